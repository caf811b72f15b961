package bf16

import (
	"bytes"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hgld/train/device/testing/operations"
)

var update = flag.Bool("update", false, "write forwards.go")

// anyType are the operations that work on all types as they are.
var anyType = []string{"Copy", "Fill", "Gather"}

// The methods of a widener are generated from the interfaces of package device.
func TestForwardsAreUpToDate(t *testing.T) {
	operations.CheckFile(t, "bf16", writeForward, *update)
}

// writeForward writes the method of one operation, unless it works on all types.
func writeForward(out *bytes.Buffer, o operations.Operation) {
	if slices.Contains(anyType, o.Name) {
		return
	}
	fmt.Fprintf(out, "func (wid *widener) %s(%s) {\n\twid.widen(%d, &%s)\n\twid.Backend.%s(%s)\n\twid.narrow()\n}\n",
		o.Name, o.Declared(), len(o.Results()), strings.Join(o.Arrays(), ", &"), o.Name, o.Passed())
}
