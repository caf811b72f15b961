package arch

import (
	"go/ast"
	"go/token"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// Every method of an exported interface and every exported field of an exported struct has a
// comment, above it or after it, or a usage text if it is a setting.
func TestMethodsAndFieldsAreDocumented(t *testing.T) {
	for _, f := range parseAll(t) {
		if f.test || strings.HasPrefix(f.pkg, "scripts/") {
			continue
		}
		for _, name := range uncommented(f) {
			t.Errorf("%s: %s has no comment", f.set.Position(name.pos), name.text)
		}
	}
}

type named struct {
	text string
	pos  token.Pos
}

// uncommented lists the methods of exported interfaces and the exported fields of exported structs
// that lack a comment.
func uncommented(f file) (list []named) {
	for _, d := range f.ast.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.TYPE {
			continue
		}
		for _, s := range g.Specs {
			spec := s.(*ast.TypeSpec)
			if !spec.Name.IsExported() {
				continue
			}
			if f.set.Position(spec.Type.Pos()).Line == f.set.Position(spec.Type.End()).Line {
				continue // the comment of the type covers its only line
			}
			var fields *ast.FieldList
			switch body := spec.Type.(type) {
			case *ast.StructType:
				fields = body.Fields
			case *ast.InterfaceType:
				fields = body.Methods
			default:
				continue
			}
			for _, field := range fields.List {
				if field.Doc != nil || field.Comment != nil || hasUsage(field) {
					continue
				}
				for _, name := range field.Names { // an embedded type has no names, and its own comment
					if name.IsExported() {
						list = append(list, named{spec.Name.Name + "." + name.Name, name.Pos()})
					}
				}
			}
		}
	}
	return list
}

// hasUsage reports whether the tag of a field has a usage text.
func hasUsage(field *ast.Field) bool {
	if field.Tag == nil {
		return false
	}
	tag, err := strconv.Unquote(field.Tag.Value)
	return err == nil && reflect.StructTag(tag).Get("usage") != ""
}
