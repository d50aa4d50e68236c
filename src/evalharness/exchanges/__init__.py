"""Whatever leaves the harness passes here: recorded, replayed, or counted by the gateway."""
