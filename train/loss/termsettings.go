package loss

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"hgld/internal/registry"
	"hgld/internal/settings"
)

// The settings of a Composition. Any of them may be given:
//
//	terms:     # replaces all terms
//	  - {name: smooth-ap, weight: 0.5, settings: {tau: 0.02}}
//	  - {name: nsm, weight: 0.5}
//	weights: [0.7, 0.3]  # one for each term
//	nsm: {temperature: 0.1}  # settings of a term; null removes it
//
// A settings key that names a loss outside the terms adds that loss as a term. All its settings
// then start from zero.
const (
	weightsKey = "weights"
	termsKey   = "terms"
)

// keys returns the keys that With accepts: weights, terms, the keys of the terms, then those of
// the losses that can be added.
func (l Composition) keys() []string {
	keys := []string{weightsKey, termsKey}
	for _, t := range l.Terms {
		keys = append(keys, t.Name)
	}
	for _, e := range WithExternal(All) {
		if _, composed := e.Value.(Composition); !composed && !slices.Contains(keys, termName(e.Name)) {
			keys = append(keys, termName(e.Name))
		}
	}
	return keys
}

// Part returns the loss of the term called key, or nil if there is none.
func (l Composition) Part(key string) any {
	if i := l.index(key); i >= 0 {
		return l.Terms[i].Loss
	}
	return nil
}

func (l Composition) index(key string) int {
	return slices.IndexFunc(l.Terms, func(t Term) bool { return t.Name == key })
}

// With returns a copy with the settings in values applied. change applies the settings of a term
// to its loss. The number of weights must equal the number of terms. For an unknown key With
// returns a *registry.UnknownError and the copy as changed so far.
func (l Composition) With(values map[string]any, change func(part any, values map[string]any) (any, error)) (any,
	error) {
	l.Terms = slices.Clone(l.Terms)
	if value, given := values[termsKey]; given {
		if err := l.setTerms(value, change); err != nil {
			return nil, fmt.Errorf("%s: %w", termsKey, err)
		}
	}
	weights, known := l.weights(), l.keys()
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if key == weightsKey || key == termsKey {
			continue
		}
		if !slices.Contains(known, key) {
			return l, &registry.UnknownError{Kind: "setting", Name: key, Nearest: registry.Nearest(key, known), Known: known}
		}
		if err := l.setTerm(key, values[key], change); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
	}
	if value := values[weightsKey]; value != nil {
		weights = nil
		if err := decode(value, &weights); err != nil {
			return nil, fmt.Errorf("%s: %w", weightsKey, settings.Misfit(fmt.Sprint(value), reflect.TypeFor[[]float64]()))
		}
	}
	if len(weights) != len(l.Terms) {
		return nil, fmt.Errorf("%d weights for %d terms, want one for each term", len(weights), len(l.Terms))
	}
	for i := range l.Terms {
		l.Terms[i].Weight = weights[i]
	}
	return l, nil
}

// setTerm changes, adds or, if value is nil, removes the term called key.
func (l *Composition) setTerm(key string, value any, change func(any, map[string]any) (any, error)) error {
	i := l.index(key)
	if value == nil {
		if i >= 0 {
			l.Terms = slices.Delete(l.Terms, i, i+1)
		}
		return nil
	}
	own, ok := value.(map[string]any)
	if !ok {
		return settings.Misfit(fmt.Sprint(value), reflect.TypeFor[map[string]any]())
	}
	if i < 0 {
		kind, err := WithExternal(All).Get("loss", strings.ReplaceAll(key, "_", "-"))
		if err != nil {
			return err
		}
		zero := reflect.Zero(reflect.TypeOf(kind)).Interface().(Kind)
		i = l.insertAt(key)
		l.Terms = slices.Insert(l.Terms, i, Term{Name: key, Loss: zero})
	}
	changed, err := change(l.Terms[i].Loss, own)
	if err != nil {
		return err
	}
	l.Terms[i].Loss = changed.(Kind)
	return nil
}

// insertAt returns the index at which a new term is inserted, which decides its weight. Terms
// follow termOrder; others come last.
func (l *Composition) insertAt(key string) int {
	order := func(name string) int {
		if i := slices.Index(termOrder, name); i >= 0 {
			return i
		}
		return len(termOrder)
	}
	for i, t := range l.Terms {
		if order(t.Name) > order(key) {
			return i
		}
	}
	return len(l.Terms)
}

// termOrder is the order in which the released configurations list the weights of these terms.
var termOrder = []string{"sup_ap", "sup_h_ap", "sup_ndcg", "sup_recall", "calibration", "nsm", "arcface"}

// setTerms replaces the terms by the list in value.
func (l *Composition) setTerms(value any, change func(any, map[string]any) (any, error)) error {
	var list []struct {
		Name     string
		Weight   *float64
		Settings map[string]any
	}
	if err := decode(value, &list); err != nil {
		return errors.New("want a list of {name: …, weight: …, settings: {…}}; settings is optional")
	}
	table := WithExternal(All)
	if l.released {
		table = WithExternal(Presets[1].Value)
	}
	l.Terms = nil
	for i, item := range list {
		kind, err := table.Get("loss", item.Name)
		if err != nil {
			return fmt.Errorf("term %d: %w", i+1, err)
		}
		if item.Weight == nil {
			return fmt.Errorf("term %d: %s has no weight, want weight: a number from 0 up", i+1, item.Name)
		}
		if len(item.Settings) > 0 {
			changed, err := change(kind, item.Settings)
			if err != nil {
				return fmt.Errorf("term %d: %s: %w", i+1, item.Name, err)
			}
			kind = changed.(Kind)
		}
		name := termName(item.Name)
		for n := 2; l.index(name) >= 0; n++ {
			name = fmt.Sprintf("%s_%d", termName(item.Name), n)
		}
		l.Terms = append(l.Terms, Term{Name: name, Weight: *item.Weight, Loss: kind})
	}
	return nil
}

// termName returns the settings key of a loss that is a term.
func termName(loss string) string { return strings.ReplaceAll(loss, "-", "_") }

// decode converts a configuration value to the type that into points to. A key that the type
// lacks is an error.
func decode(value, into any) error {
	text, err := yaml.Marshal(value)
	if err != nil {
		return err
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	return d.Decode(into)
}

// MarshalYAML returns the weights and, under its key, the settings of each term.
func (l Composition) MarshalYAML() (any, error) {
	tree := &yaml.Node{Kind: yaml.MappingNode}
	add := func(key string, value any) error {
		var node yaml.Node
		err := node.Encode(value)
		tree.Content = append(tree.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, &node)
		return err
	}
	if err := add(weightsKey, l.weights()); err != nil {
		return nil, err
	}
	for _, t := range l.Terms {
		if err := add(t.Name, t.Loss); err != nil {
			return nil, err
		}
	}
	return tree, nil
}

// MarshalJSON returns Weights and the settings of each term, under the name of its Go type, or
// under its key if that name is taken.
func (l Composition) MarshalJSON() ([]byte, error) {
	all := map[string]any{"Weights": l.weights()}
	for _, t := range l.Terms {
		key := reflect.TypeOf(t.Loss).Name()
		if _, taken := all[key]; taken {
			key = t.Name
		}
		all[key] = t.Loss
	}
	return json.Marshal(all)
}
