"""The figures of a report, computed again from its trials or its cases."""
