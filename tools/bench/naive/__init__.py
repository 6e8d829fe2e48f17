"""What a project without this product would write first: the same body into one table, by the book of DRF."""
