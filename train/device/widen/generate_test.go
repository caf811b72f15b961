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
	fmt.Fprintf(out, "func (wid *widener) %s(%s) {\n\twid.widen(%d, &%s)\n\twid.Backend.%s(%s)\n\twid.narrow()\n}\n",
		o.Name, o.Declared(), len(o.Results()), strings.Join(o.Arrays(), ", &"), o.Name, o.Passed())
}
