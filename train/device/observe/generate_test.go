package observe

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"testing"

	"hgld/train/device/operations"
)

var update = flag.Bool("update", false, "write forwards.go")

// costs are the floating-point operations of those that have products.
var costs = map[string]string{
	"MatMul":        "products(dst, inner(a, m.TransA))",
	"Scores":        "products(dst, q.Cols())",
	"Attention":     "attention(dst, 2)",
	"AttentionGrad": "attention(dy, 5)",
	"Conv":          "products(dst, w.Len()/w.Dims[0])",
	"ConvGradX":     "products(dy, w.Len()/w.Dims[0])",
	"ConvGradW":     "products(dy, dw.Len()/dw.Dims[0])",
}

// The methods of an observer are generated from the interfaces of package device.
func TestForwardsAreThoseOfTheInterfaces(t *testing.T) {
	const file = "forwards.go"
	want, err := operations.File("..", "observe", writeForward)
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
		t.Errorf("%s is not up to date: go test ./train/device/observe -run TestForwards -update (%v)", file, err)
	}
}

// writeForward writes the method of one operation.
func writeForward(out *bytes.Buffer, o operations.Operation) {
	cost := costs[o.Name]
	if cost == "" {
		cost = "0"
	}
	fmt.Fprintf(out, "func (obs *observer) %s(%s) {\n\tobs.seen(%q, %s, func() { obs.Backend.%s(%s) })\n}\n",
		o.Name, o.Declared(), o.Name, cost, o.Name, o.Passed())
}
