"""The machine half: formats, checks, handoffs, tickets, audit and the orchestrators' API."""
