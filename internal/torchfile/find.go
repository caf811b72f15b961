package torchfile

import (
	"slices"
	"strings"

	"hgld/internal/budget"
)

// keysOfWeights lists the keys under which training programs store the weights in their
// checkpoints, in order of preference.
var keysOfWeights = []string{"state_dict", "model_state_dict", "net_state", "net_state_dict", "model", "net",
	"model_state", "module", "params", "state_dict_ema", "model_ema", "ema_state_dict", "ema", "params_ema", "teacher",
	"student", "checkpoint"}

// found is a dictionary of tensors and the keys that lead to it.
type found struct {
	*dict
	key string
}

// findWeights returns the dictionaries of tensors in the contents of a file, the chosen one first: the
// one under key, or without a key the first. It looks into no dictionary twice, because a crafted one
// may hold itself under every key.
func findWeights(root any, key string) ([]found, error) {
	outer, is := root.(*dict)
	if !is {
		return nil, damaged("it holds %s, expected a dictionary of tensors", kindOf(root))
	}
	search := weightsSearch{state: map[*dict]visit{}}
	search.in(outer, nil)
	if key != "" {
		return search.under(outer, key)
	}
	if len(search.found) > 0 {
		return search.found, nil
	}
	if search.cycle != "" {
		return nil, damaged("no dictionary of tensors in it; the dictionary at %s is one that contains it", search.cycle)
	}
	if len(outer.entries) == 0 {
		return nil, damaged("no dictionary of tensors in it; it is empty")
	}
	return nil, damaged("no dictionary of tensors in it; it has the keys %s", keysOf(outer))
}

// keysOf lists the first keys of a dictionary for a message.
func keysOf(d *dict) string {
	var keys []string
	for _, e := range d.entries[:min(8, len(d.entries))] {
		keys = append(keys, quoted(e.key))
	}
	return strings.Join(keys, ", ")
}

// visit says how far a dictionary has been searched.
type visit int

const (
	unseen visit = iota
	entered
	searched
)

type weightsSearch struct {
	state map[*dict]visit
	found []found
	cycle string // keys that lead to the first dictionary that contains itself
}

// in finds the dictionaries of tensors at d and below it. The keys lead to d.
func (s *weightsSearch) in(d *dict, keys []string) {
	if s.state[d] == entered && s.cycle == "" {
		s.cycle = strings.Join(keys, ".")
	}
	if s.state[d] != unseen || len(keys) > budget.Depth {
		return
	}
	s.state[d] = entered
	defer func() { s.state[d] = searched }()
	if ofTensors(d) {
		s.found = append(s.found, found{d, strings.Join(keys, ".")})
		return
	}
	for _, key := range keysOfWeights {
		if inner, is := d.get(key).(*dict); is {
			s.in(inner, append(slices.Clone(keys), key))
		}
	}
}

// under puts the dictionary that a key leads to before the others.
func (s *weightsSearch) under(d *dict, key string) ([]found, error) {
	for _, part := range strings.Split(key, ".") {
		inner, is := d.get(part).(*dict)
		if !is {
			return nil, damaged("no dictionary %s in it; it has the keys %s", quoted(key), keysOf(d))
		}
		d = inner
	}
	if !ofTensors(d) {
		return nil, damaged("the dictionary %s does not hold tensors alone; it has the keys %s", quoted(key), keysOf(d))
	}
	others := slices.DeleteFunc(s.found, func(f found) bool { return f.dict == d })
	return append([]found{{d, key}}, others...), nil
}

// ofTensors reports whether a dictionary holds tensors or arrays, and nothing else.
func ofTensors(d *dict) bool {
	return len(d.entries) > 0 && !slices.ContainsFunc(d.entries, func(e entry) bool { return !isTensor(e.value) })
}

func isTensor(v any) bool {
	switch v.(type) {
	case *tensor, *array:
		return true
	}
	return false
}
