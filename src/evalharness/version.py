"""The version, in one place: the build reads it here, and so does every run's lock."""

VERSION = "0.1.0"
