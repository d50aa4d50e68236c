"""From a suite to finished trials and measurements."""
