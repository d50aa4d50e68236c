"""The interfaces that more than one part can implement, one short file each. No part refers to another part."""
