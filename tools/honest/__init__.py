"""A first week of honest orchestrators: what they post, in the order in which they post it."""
