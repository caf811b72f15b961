package observe

import (
	"bytes"
	"flag"
	"fmt"
	"strings"
	"testing"

	"hgld/train/device/testing/operations"
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

// traffic are the bytes of those that do not read or write their arrays whole, or read them
// twice. Adam and SGD read what they write.
var traffic = map[string]string{
	"MatMul":        "moved(dst, a, b, m.Bias) + added(m.Beta, joined(dst, m))",
	"Gather":        "2*moved(dst) + moved(index)",
	"ScatterAdd":    "(2+float64(acc))*moved(x) + moved(index)",
	"Adam":          "moved(w, m, v, shadow, dw, hyper, flag) + moved(w, m, v)",
	"SGD":           "moved(w, m, shadow, dw, hyper, flag) + moved(w, m)",
	"Average":       "2*moved(dst) + moved(x, rate, flag)",
	"Axpby":         "axpbyBytes(dst, x, b, y)",
	"LayerNormGrad": "moved(dx, dgamma, dbeta, dy, x, gamma, stats, add) + added(acc, dgamma, dbeta)",
	"Norm":          "moved(dst, stats, x, gamma, beta, residual) + unless(o.Frozen, x)",
	"NormGrad": "moved(dx, dgamma, dbeta, dy, x, gamma, stats, sums) + added(acc, dgamma, dbeta) +\n" +
		"unless(!sums.Absent(), dy, x)",
	"ReluGrad": "moved(dx, e.Sums, dy, e.Add, e.Mask, e.X, e.Mean) + added(acc, e.Sums)",
}

// The methods of an observer are generated from the interfaces of package device.
func TestForwardsAreUpToDate(t *testing.T) {
	operations.CheckFile(t, "observe", writeForward, *update)
}

// writeForward writes the method of one operation.
func writeForward(out *bytes.Buffer, o operations.Operation) {
	cost := costs[o.Name]
	if cost == "" {
		cost = "0"
	}
	moved := traffic[o.Name]
	if moved == "" {
		moved = fmt.Sprintf("moved(%s)", strings.Join(o.Arrays(), ", "))
	}
	if factor := o.Adds(); factor != "" && traffic[o.Name] == "" {
		moved += fmt.Sprintf(" + added(%s, %s)", factor, strings.Join(o.Results(), ", "))
	}
	fmt.Fprintf(out, "func (obs *observer) %s(%s) {\n\tobs.seen(Call{%q, %s,\n%s},\nfunc() { obs.Backend.%s(%s) })\n}\n",
		o.Name, o.Declared(), o.Name, cost, moved, o.Name, o.Passed())
}
