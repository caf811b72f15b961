package cuda

// choices replace what the rules choose by shape. Zeros leave the rules. Tests set them, for large tiles of small
// shapes, and BenchmarkChoices, to find the fastest on a GPU.
type choices struct {
	Tile   int  // side of the tile of a block, 64 or 128; it changes no bytes
	Splits int  // parts into which a sum is cut; they change the order of the sum
	Plan   int  // which suitable algorithm of NVIDIA's library is taken, from 0 on
	Always bool // a library computes all that it can, where a rule takes our kernel too
}

// CheckVariables returns an error for a value of [VendorVariable] that no device would accept.
func CheckVariables() error {
	_, err := vendorTypes()
	return err
}

// tiling returns how a product is cut: as productTiles says, unless it is chosen otherwise.
func (c *choices) tiling(filling, rows, cols, inner, batch int) (t tiling) {
	t.tile, t.splits = productTiles(filling, rows, cols, inner, batch)
	if c.Tile != 0 {
		t.tile, t.splits = c.Tile, productSplits(filling, c.Tile, rows, cols, inner, batch)
	}
	if c.Splits != 0 {
		t.splits = max(1, min(c.Splits, blocks(inner, splitUnit)))
	}
	return t
}

// tile is the tile of an operation that does not split its sums.
func (c *choices) tile(filling, rows, cols, batch int) int {
	if c.Tile != 0 {
		return c.Tile
	}
	tile, _ := productTiles(filling, rows, cols, leastSplit, batch)
	return tile
}
