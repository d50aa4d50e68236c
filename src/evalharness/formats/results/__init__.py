"""Files with results instead of suites: reports, their trials, published tables of rates."""
