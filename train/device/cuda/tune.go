package cuda

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// TuneVariable replaces choices that this package and NVIDIA's libraries make by shape, for
// experiments on a card: "matmul.split=4 conv.tile=64". Empty leaves all of them.
//
//	matmul.tile, conv.tile, convgradx.tile, convgradw.tile   side of the tile of a block: 64, 128, or 256 by wgmma
//	matmul.split, convgradw.split   parts into which the sum is cut, 1 to 64
//	cublaslt.plan                   which suitable algorithm of the library is taken, 0 to 7
//	cudnn.plan                      the same of convolutions, 0 to 31
//	library.always                  1: a library computes all that it can, where a rule takes our kernel too
//	kernels.mma                     1: no wgmma, as for a card without it
//	kernels.ptx                     1: the driver compiles the kernels, as for a card without machine code
//
// A tile of 64 or 128 changes no bytes. Splits and plans change the order of sums, and wgmma may round otherwise.
const TuneVariable = "HGLD_CUDA_TUNE"

// knob is a choice of TuneVariable.
type knob int

const (
	matmulTile knob = iota
	convTile
	convGradXTile
	convGradWTile
	matmulSplit
	convGradWSplit
	cublasLtPlan
	cudnnPlan
	libraryAlways
	kernelsMMA
	kernelsPTX
	knobs // the number of them
)

// knobFacts is the name of a knob, and what its value may be.
type knobFacts struct {
	name, may string
	is        func(v int) bool
}

// knobTable has the facts of each knob.
var knobTable = [knobs]knobFacts{
	matmulTile:     {"matmul.tile", "64, 128 or 256", isTile},
	convTile:       {"conv.tile", "64, 128 or 256", isTile},
	convGradXTile:  {"convgradx.tile", "64, 128 or 256", isTile},
	convGradWTile:  {"convgradw.tile", "64, 128 or 256", isTile},
	matmulSplit:    {"matmul.split", "1 to 64", isSplit},
	convGradWSplit: {"convgradw.split", "1 to 64", isSplit},
	cublasLtPlan:   {"cublaslt.plan", "0 to 7", func(v int) bool { return v >= 0 && v < 8 }},
	cudnnPlan:      {"cudnn.plan", "0 to 31", func(v int) bool { return v >= 0 && v < 32 }},
	libraryAlways:  {"library.always", "0 or 1", isSwitch},
	kernelsMMA:     {"kernels.mma", "0 or 1", isSwitch},
	kernelsPTX:     {"kernels.ptx", "0 or 1", isSwitch},
}

func isTile(v int) bool   { return v == 64 || v == 128 || v == wideTile }
func isSplit(v int) bool  { return v >= 1 && v <= 64 }
func isSwitch(v int) bool { return v == 0 || v == 1 }

// tuning is the values of the knobs. 0 is the rule's choice, and of plans the first.
type tuning [knobs]int

// tuningOf reads a text like TuneVariable's.
func tuningOf(text string) (t tuning, err error) {
	for _, entry := range strings.Fields(text) {
		name, value, _ := strings.Cut(entry, "=")
		k := slices.IndexFunc(knobTable[:], func(k knobFacts) bool { return k.name == name })
		if k < 0 {
			var names []string
			for _, k := range knobTable {
				names = append(names, k.name)
			}
			return t, fmt.Errorf("cuda: $%s has %.40q; want %s", TuneVariable, name, strings.Join(names, ", "))
		}
		v, err := strconv.Atoi(value)
		if err != nil || !knobTable[k].is(v) {
			return t, fmt.Errorf("cuda: $%s: %s is %.40q; want %s", TuneVariable, name, value, knobTable[k].may)
		}
		t[k] = v
	}
	return t, nil
}

// CheckVariables returns an error for a value of [TuneVariable] or [VendorVariable] that no device
// would accept.
func CheckVariables() error {
	_, tune := tuningOf(os.Getenv(TuneVariable))
	_, vendor := vendorTypes()
	return errors.Join(tune, vendor)
}

// tiles returns the side of a tile and the number of splits of a product: productTiles', unless
// knobs say otherwise.
func (t *tuning) tiles(tileKnob, splitKnob knob, rows, cols, inner, batch int) (tile, splits int) {
	tile, splits = productTiles(rows, cols, inner, batch)
	if v := t[tileKnob]; v != 0 {
		tile = v
		if v == wideTile {
			tile = asideOfWgmma(rows, cols)
		}
		splits = productSplits(tile, rows, cols, inner, batch)
	}
	if v := t[splitKnob]; v != 0 {
		splits = min(v, blocks(inner, splitUnit))
	}
	return tile, max(splits, 1)
}

// tile is tiles of an operation that does not split its sums.
func (t *tuning) tile(of knob, rows, cols, batch int) int {
	if v := t[of]; v == wideTile {
		return asideOfWgmma(rows, cols)
	} else if v != 0 {
		return v
	}
	tile, _ := productTiles(rows, cols, leastSplit, batch)
	return tile
}

// asideOfWgmma returns the tile where wgmma is asked for, which the sums of columns have, and the products that
// wgmma cannot compute.
func asideOfWgmma(rows, cols int) int {
	if min(rows, cols) <= 64 {
		return 64
	}
	return 128
}
