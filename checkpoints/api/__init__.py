"""What machines ask over HTTP: thin views that parse, call one service, and render (contract §3 to §6)."""
