"""The arrows from cases to a verdict, a folder each. A folder uses those before it: planning, running, measuring, …"""
