"""Recorded sessions: conversations as cases, and sessions rebuilt from what an agent did."""
