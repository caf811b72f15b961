package serve

import (
	"cmp"
	"context"
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
// empty; waiting says that names are still being encoded.
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
	tags, version, waiting := s.openTags(), s.session.Version(), s.naming.running
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
	write(w, http.StatusOK, map[string]any{"version": version, "proposals": list, "waiting": waiting})
}

// openTags lists the tags that are neither decided nor proposed, nor were refused: what a
// curator has called wrong is not proposed again.
func (s *Server) openTags() []int {
	var tags []int
	refused := s.session.Refused()
	for i := range s.home {
		if n := s.session.Node(0, i); !n.Decided && !n.Proposed && !refused[i] {
			tags = append(tags, i)
		}
	}
	return tags
}

// mostChecked is the largest sample of a proposal.
const mostChecked = 1000

// check answers with a drawn sample of a proposal, and how many of the tags that are still
// proposed are expected to be wrong (curate.ProposalCheck). Of is the number of the edit, 0
// for the last one that has tags left. With "whole" it lists those tags, too.
func (s *Server) check(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Of    int    `json:"of"`
		N     int    `json:"n"`
		Seed  uint64 `json:"seed"`
		Whole bool   `json:"whole"`
	}
	if !read(w, r, &q) {
		return
	}
	var a checked
	var err error
	s.mu.Lock()
	a.Version = s.session.Version()
	a.ProposalCheck, err = s.session.CheckProposal(q.Of, min(q.N, mostChecked), q.Seed)
	compute := func(context.Context) error { return nil }
	if err == nil && q.Whole {
		compute = s.leads(&a)
	}
	s.mu.Unlock()
	if err == nil {
		err = compute(r.Context())
	}
	if err != nil {
		write(w, http.StatusUnprocessableEntity, answer{Error: err.Error()})
		return
	}
	write(w, http.StatusOK, a)
}

// checked is the answer to a check.
type checked struct {
	Version int `json:"version"`
	*curate.ProposalCheck
	Rest  []int     `json:"rest,omitempty"`  // tags of the proposal that are left
	Leads []float64 `json:"leads,omitempty"` // of each of Rest; none if no names are known
}

// leads lists the tags that a proposal has left, and prepares to compute by how much the
// name of its group is nearer to each of them than any other. It is negative if the nearest
// name is another. The lock is held; the function that it returns runs without it.
func (s *Server) leads(a *checked) func(context.Context) error {
	a.Rest = s.session.Left(a.Of)
	if s.c.Suggester == nil || len(a.Rest) == 0 {
		return func(context.Context) error { return nil }
	}
	in := make([]int, len(a.Rest))
	for i, tag := range a.Rest {
		in[i] = s.session.Node(0, tag).Parent
	}
	compute := s.c.Suggester.Proposals(a.Rest)
	return func(ctx context.Context) error {
		nearest, leads, err := compute(ctx)
		for i, g := range nearest {
			if g != in[i] {
				leads[i] = -leads[i]
			}
		}
		a.Leads = leads
		return err
	}
}
