package settings

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"go.yaml.in/yaml/v3"

	"hgld/internal/budget"
	"hgld/internal/usage"
)

// Document returns the root of the one YAML document in the text of a file, or nil if it has none. Aliases are
// replaced by what they stand for. Errors are those of wrong usage, and name the file.
func Document(file string, text []byte) (*yaml.Node, error) {
	var doc yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, usage.Errorf("%s: %w", file, err)
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, usage.Errorf("%s: more than one YAML document; want one", file)
	}
	r := resolver{file: file, within: map[*yaml.Node]bool{}}
	return doc.Content[0], r.resolve(&doc, false)
}

// resolver replaces aliases by copies.
type resolver struct {
	file   string
	values int                 // so far
	within map[*yaml.Node]bool // the nodes around the present one, as they were written
}

// resolve replaces the aliases in a node, which is a copy if copying is set.
func (r *resolver) resolve(node *yaml.Node, copying bool) error {
	for i, written := range node.Content {
		line, name, copying := written.Line, written.Value, copying
		if written.Kind == yaml.AliasNode {
			written, copying = written.Alias, true
		}
		r.values++
		switch {
		case r.within[written]:
			return usage.Errorf("%s:%d: the anchor %.80q contains itself", r.file, line, name)
		case r.values > budget.Values:
			return usage.Errorf("%s: it has more than %d values, with those that its aliases repeat; want fewer", r.file,
				budget.Values)
		case copying:
			own := *written
			own.Line, own.Content = line, slices.Clone(written.Content)
			node.Content[i] = &own
		}
		node.Content[i].Anchor = ""
		r.within[written] = true
		if err := r.resolve(node.Content[i], copying); err != nil {
			return err
		}
		delete(r.within, written)
	}
	return nil
}
