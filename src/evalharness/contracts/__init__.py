"""Every role that more than one part can play, one short file each. A part never names another part."""
