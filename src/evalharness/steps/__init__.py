"""What several actions share: finding, choosing, building, reporting. No user calls one by itself."""
