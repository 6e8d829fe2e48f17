"""What people see: one module a page, typed function views, forms exactly as the contract names them (§7, §10)."""
