// Package operations lists the operations of a device.Backend by reading the source of
// package device. Tests use it to generate backends that wrap another one.
package operations

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/printer"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// Operation is a method of Memory, Dense, Update, Image or Rank that computes or moves numbers and can
// be executed later.
type Operation struct {
	Name       string      // name of the method
	Parameters []Parameter // in order
}

// Parameter is one parameter of an operation.
type Parameter struct {
	Name string // in package device
	Type string // as other packages write it: device.Array, *device.Steps, float32
}

// Declared returns the parameters as a method declares them.
func (o Operation) Declared() string {
	var list []string
	for i, p := range o.Parameters {
		if i+1 < len(o.Parameters) && o.Parameters[i+1].Type == p.Type {
			list = append(list, p.Name)
		} else {
			list = append(list, p.Name+" "+p.Type)
		}
	}
	return strings.Join(list, ", ")
}

// Passed returns the parameters as a call passes them on.
func (o Operation) Passed() string {
	var list []string
	for _, p := range o.Parameters {
		list = append(list, p.Name)
	}
	return strings.Join(list, ", ")
}

// results lists the arrays that an operation writes, as parameters or fields of its settings, if
// it writes more than the first.
var results = map[string][]string{
	"NormGrad":    {"dx", "dgamma", "dbeta"},
	"SoftmaxLoss": {"loss", "dz"},
	"RankLoss":    {"loss", "ds"},
	"BinLoss":     {"loss", "ds"},
	"PairLoss":    {"loss", "cnt", "ds"},
	"RankScore":   {"loss", "drank", "dplus"},
	"Relevance":   {"rel", "cnt", "weight"},
	"Adam":        {"w", "m", "v", "shadow"},
	"SGD":         {"w", "m", "shadow"},

	"LayerNorm":     {"dst", "stats"},
	"LayerNormGrad": {"dx", "dgamma", "dbeta"},
	"Normalize":     {"dst", "norm"},
	"Attention":     {"dst", "lse"},
	"FoldNorm":      {"wf", "bf"},
	"FoldNormGrad":  {"dw", "dgamma", "dbeta"},
	"Norm":          {"dst", "stats"},
	"Conv":          {"dst", "e.Stats"},
	"ReluGrad":      {"dx", "e.Sums"},
	"ConvGradX":     {"dx", "e.Sums"},
	"GeMGrad":       {"dx", "dp"},
	"Pace":          {"dst", "count"},
}

// arraysIn lists the arrays in the settings of an operation, by type.
var arraysIn = map[string][]string{
	"device.Mul":          {"Bias", "Add"},
	"device.Epilogue":     {"Bias", "Residual", "Stats"},
	"device.GradEpilogue": {"Add", "Mask", "Sums", "X", "Mean"},
}

// Results returns the names of the arrays that an operation writes.
func (o Operation) Results() []string {
	if written := results[o.Name]; written != nil {
		return written
	}
	return []string{o.Parameters[0].Name}
}

// Arrays returns expressions for all arrays of an operation, as parameters or as fields of them.
// Those that it writes come first, then those that it only reads.
func (o Operation) Arrays() []string {
	list := slices.Clone(o.Results())
	for _, p := range o.Parameters {
		if p.Type == "device.Array" && !slices.Contains(list, p.Name) {
			list = append(list, p.Name)
		}
		for _, field := range arraysIn[p.Type] {
			if name := p.Name + "." + field; !slices.Contains(list, name) {
				list = append(list, name)
			}
		}
	}
	return list
}

// Adds returns the expression of the factor, 0 or 1, that decides whether results are added to.
// It is empty if the operation always overwrites.
func (o Operation) Adds() string {
	for _, p := range o.Parameters {
		if p.Name == "acc" {
			return "acc"
		}
	}
	return ""
}

// NotOperations are the methods of a Backend that are not operations, because they answer the
// caller or exchange memory with the host.
var NotOperations = []string{
	"Name", "Supports", "Alloc", "Free", "Part", "Upload", "Download", "Wait", "Sync",
}

// Read returns the operations declared in folder, the source of package device, in order of
// declaration.
func Read(folder string) ([]Operation, error) {
	set := token.NewFileSet()
	var list []Operation
	for _, name := range []string{"device.go", "dense.go", "update.go", "image.go", "rank.go"} {
		file, err := parser.ParseFile(set, filepath.Join(folder, name), nil, 0)
		if err != nil {
			return nil, fmt.Errorf("operations: %w", err)
		}
		for _, method := range methods(file) {
			if slices.Contains(NotOperations, method.Names[0].Name) {
				continue
			}
			o, err := operation(set, method)
			if err != nil {
				return nil, err
			}
			list = append(list, o)
		}
	}
	return list, nil
}

// methods returns the methods of the interfaces that make up a Backend.
func methods(file *ast.File) (list []*ast.Field) {
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		body, ok := spec.Type.(*ast.InterfaceType)
		if ok && slices.Contains([]string{"Memory", "Dense", "Update", "Image", "Rank"}, spec.Name.Name) {
			list = append(list, body.Methods.List...)
		}
		return false
	})
	return list
}

func operation(set *token.FileSet, method *ast.Field) (Operation, error) {
	o := Operation{Name: method.Names[0].Name}
	f := method.Type.(*ast.FuncType)
	if f.Results != nil {
		return o, fmt.Errorf("operations: %s returns values, so it cannot be skipped or delayed", o.Name)
	}
	for _, field := range f.Params.List {
		of, err := typeName(set, field.Type)
		if err != nil {
			return o, err
		}
		for _, name := range field.Names {
			o.Parameters = append(o.Parameters, Parameter{name.Name, of})
		}
	}
	return o, nil
}

// typeName returns the name of a type of package device as used in another package.
func typeName(set *token.FileSet, e ast.Expr) (string, error) {
	star := ""
	if p, ok := e.(*ast.StarExpr); ok {
		star, e = "*", p.X
	}
	var b strings.Builder
	if err := printer.Fprint(&b, set, e); err != nil {
		return "", fmt.Errorf("operations: %w", err)
	}
	if ast.IsExported(b.String()) {
		star += "device."
	}
	return star + b.String(), nil
}

// File returns the text of a generated Go file of the given package. It has a method for every
// operation, as printed by write.
func File(folder, pkg string, write func(out *bytes.Buffer, o Operation)) ([]byte, error) {
	list, err := Read(folder)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "// Code generated by generate_test.go; DO NOT EDIT.\n\npackage %s\n\nimport %q\n", pkg,
		"hgld/train/device")
	for _, o := range list {
		out.WriteByte('\n')
		write(&out, o)
	}
	return format.Source(out.Bytes())
}
