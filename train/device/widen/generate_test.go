package widen

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"hgld/train/device/operations"
)

var update = flag.Bool("update", false, "write forwards.go")

// anyType are the operations that work on all types as they are.
var anyType = []string{"Copy", "Fill", "Gather"}

// results are the arrays that an operation writes, where these are not just the first.
var results = map[string][]string{
	"NormGrad":    {"dx", "dres"},
	"SoftmaxLoss": {"loss", "dz"},
	"RankLoss":    {"loss", "ds"},
	"BinLoss":     {"loss", "ds"},
	"PairLoss":    {"loss", "ds"},
	"RankScore":   {"loss", "drank", "dplus"},
	"Adam":        {"w", "m", "v", "shadow"},
	"SGD":         {"w", "m", "shadow"},
	"GeMGrad":     {"dx", "dp"},
}

// arraysOf are the arrays in the settings of an operation, by type.
var arraysOf = map[string][]string{
	"device.Mul":      {"Bias"},
	"device.Epilogue": {"Bias", "Residual"},
}

// The methods of a widener are generated from the interfaces of package device.
func TestForwardsAreThoseOfTheInterfaces(t *testing.T) {
	const file = "forwards.go"
	want, err := operations.File("..", "widen", writeForward)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not up to date: go test ./train/device/widen -run TestForwards -update (%v)", file, err)
	}
}

// writeForward writes the method of one operation, unless it works on all types.
func writeForward(out *bytes.Buffer, o operations.Operation) {
	if slices.Contains(anyType, o.Name) {
		return
	}
	written := results[o.Name]
	if written == nil {
		written = []string{o.Parameters[0].Name}
	}
	arrays := slices.Clone(written)
	for _, p := range o.Parameters {
		if p.Type == "device.Array" && !slices.Contains(written, p.Name) {
			arrays = append(arrays, p.Name)
		}
		for _, field := range arraysOf[p.Type] {
			arrays = append(arrays, p.Name+"."+field)
		}
	}
	fmt.Fprintf(out, "func (wid *widener) %s(%s) {\n\twid.widen(%d, &%s)\n\twid.Backend.%s(%s)\n\twid.narrow()\n}\n",
		o.Name, o.Declared(), len(written), strings.Join(arrays, ", &"), o.Name, o.Passed())
}
