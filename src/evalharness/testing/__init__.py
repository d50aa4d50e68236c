"""Fakes of the roles in `contracts/`, for those who write plug-ins and for our own tests: real behaviour, no set-up."""
