package serve

import (
	"cmp"
	"net/http"
	"slices"

	"hgld/curate"
)

// proposal is a tag with the group that is proposed for it. Lead says how clearly: by how
// much the cosine to its name exceeds that to the second nearest.
type proposal struct {
	Tag   int     `json:"tag"`
	Group int     `json:"group"`
	Lead  float64 `json:"lead"`
}

// proposals answers with a group for every tag that is open and not proposed yet, the
// clearest first. With "least" it leaves out tags that lead by less. The page makes an
// edit of those that it takes. Without two groups of names that are known the list is
// empty.
func (s *Server) proposals(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Least float64 `json:"least"`
	}
	if !read(w, r, &q) {
		return
	}
	if s.c.Suggester == nil {
		http.Error(w, "this draft has no vectors", http.StatusNotFound)
		return
	}
	s.mu.Lock()
	tags, version := s.openTags(), s.session.Version()
	compute := s.c.Suggester.Proposals(tags)
	s.mu.Unlock()
	groups, leads, err := compute(r.Context())
	if err != nil {
		write(w, http.StatusUnprocessableEntity, answer{Error: err.Error()})
		return
	}
	list := []proposal{}
	for i, g := range groups {
		if leads[i] >= q.Least {
			list = append(list, proposal{tags[i], g, leads[i]})
		}
	}
	slices.SortFunc(list, func(a, b proposal) int {
		return cmp.Or(cmp.Compare(b.Lead, a.Lead), cmp.Compare(a.Tag, b.Tag))
	})
	write(w, http.StatusOK, map[string]any{"version": version, "proposals": list})
}

// openTags lists the tags that are neither decided nor proposed.
func (s *Server) openTags() []int {
	var tags []int
	for i := range s.home {
		if n := s.session.Node(0, i); !n.Decided && !n.Proposed {
			tags = append(tags, i)
		}
	}
	return tags
}

// mostChecked is the largest sample of a proposal.
const mostChecked = 1000

// check answers with a drawn sample of a proposal, and how many of the tags that are still
// proposed are expected to be wrong (curate.ProposalCheck).
func (s *Server) check(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Of   int    `json:"of"` // number of the edit
		N    int    `json:"n"`
		Seed uint64 `json:"seed"`
	}
	if !read(w, r, &q) {
		return
	}
	s.mu.Lock()
	version := s.session.Version()
	c, err := s.session.CheckProposal(q.Of, min(q.N, mostChecked), q.Seed)
	s.mu.Unlock()
	if err != nil {
		write(w, http.StatusUnprocessableEntity, answer{Error: err.Error()})
		return
	}
	write(w, http.StatusOK, struct {
		Version int `json:"version"`
		*curate.ProposalCheck
	}{version, c})
}
