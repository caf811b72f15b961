package backbone

import (
	"slices"
	"strings"

	"hgld/internal/tensorfile"
)

// wrappers are the prefixes that training programs put before the names of a network, also several of
// them: torch's DataParallel, torch.compile, Lightning, and programs that keep the network as an attribute.
var wrappers = []string{"module.", "_orig_mod.", "model.", "encoder.", Prefix}

// mostWrappers limits how many prefixes are removed from a name.
const mostWrappers = 8

// unwrapping is the tensors of a file whose names began with a prefix, without it.
type unwrapping struct {
	tensors []tensorfile.Tensor
	prefix  string
}

// unwrappings returns the tensors of a file without the prefixes of training programs. The first lacks those that
// all names share, except [Prefix], which is also hgld's own. The others lack further ones, and the
// tensors that do not have these: a decoder, a projection, a loss.
func unwrappings(tensors []tensorfile.Tensor) []unwrapping {
	u := unwrapping{tensors: tensors}
	for range mostWrappers {
		shared := slices.IndexFunc(wrappers[:len(wrappers)-1], func(w string) bool {
			return len(u.tensors) > 0 && !slices.ContainsFunc(u.tensors, func(t tensorfile.Tensor) bool {
				return !strings.HasPrefix(t.Name, w)
			})
		})
		if shared < 0 {
			break
		}
		u = u.inside(wrappers[shared])
	}
	list := []unwrapping{u}
	for i := 0; i < len(list) && len(list) <= mostWrappers; i++ {
		for _, w := range wrappers {
			if part := list[i].inside(w); len(part.tensors) > 0 {
				list = append(list, part)
			}
		}
	}
	return list
}

// inside returns the tensors whose names begin with a prefix, without it.
func (u unwrapping) inside(prefix string) unwrapping {
	var kept []tensorfile.Tensor
	for _, t := range u.tensors {
		if name, has := strings.CutPrefix(t.Name, prefix); has {
			t.Name = name
			kept = append(kept, t)
		}
	}
	return unwrapping{kept, u.prefix + prefix}
}
