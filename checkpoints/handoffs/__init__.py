"""The life of a handoff as pure rules: which edges exist, and the arithmetic of retries."""
