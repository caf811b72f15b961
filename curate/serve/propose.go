package serve

import (
	"cmp"
	"context"
	"math"
	"net/http"
	"slices"

	"hgld/curate"
)

// Proposal is a tag with the group that is proposed for it. Lead says how clearly: by how
// much the cosine to its name exceeds that to the second nearest.
type Proposal struct {
	// Tag is the place of the tag.
	Tag int `json:"tag"`
	// Group is the place of the group.
	Group int `json:"group"`
	// Lead is the difference of the two cosines, and not negative.
	Lead float64 `json:"lead"`
}

// proposals answers with a group for every tag that is open and not proposed yet, the
// clearest first. With "least" it leaves out tags that lead by less. The page makes an
// edit of those that it takes. Without two groups of names that are known the list is
// empty; waiting says that names are still being encoded.
func (s *Server) proposals(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Least float64 `json:"least"`
	}
	if !readJSON(w, r, &q) {
		return
	}
	if s.c.Suggester == nil {
		http.Error(w, "this draft has no vectors", http.StatusNotFound)
		return
	}
	s.mu.Lock()
	tags, version, waiting := s.session.Unproposed(), s.session.Version(), s.naming.running
	compute := s.c.Suggester.Proposals(tags)
	s.mu.Unlock()
	groups, leads, err := compute(r.Context())
	if err != nil {
		writeJSON(w, http.StatusUnprocessableEntity, answer{Error: err.Error()})
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"version": version, "waiting": waiting,
		"proposals": ranked(tags, groups, leads, q.Least)})
}

// Offer returns what the page would propose for the open tags of a session: the names of its
// groups are encoded, and each tag goes to the nearest one if that leads the second nearest
// by least or more. The clearest come first. Near is new: nothing was placed in it. The
// result is empty if fewer than two groups have a name that can be encoded.
func Offer(ctx context.Context, s *curate.Session, near Suggester, namer Namer, least float64) ([]Proposal, error) {
	near.Place(Where(s, s.Places()))
	var groups []int
	var names []string
	for g := range s.Size(1) {
		if name := s.OwnName(g); name != "" {
			groups, names = append(groups, g), append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	vectors, err := namer.Names(ctx, names)
	if err != nil {
		return nil, err
	}
	for i, g := range groups {
		near.Name(g, vectors[i])
	}
	tags := s.Unproposed()
	in, leads, err := near.Proposals(tags)(ctx)
	if err != nil {
		return nil, err
	}
	return ranked(tags, in, leads, least), nil
}

// OfferParts lists what Offer returns by group, as a Propose takes it.
func OfferParts(ctx context.Context, s *curate.Session, near Suggester, namer Namer,
	least float64) ([]curate.Part, error) {
	offered, err := Offer(ctx, s, near, namer, least)
	if err != nil {
		return nil, err
	}
	var tags []int
	in, leads := map[int]string{}, map[curate.Ref]float64{}
	for _, p := range offered {
		tags, in[p.Tag] = append(tags, p.Tag), s.OwnName(p.Group)
		leads[s.Node(0, p.Tag).Ref] = math.Round(p.Lead*1e4) / 1e4
	}
	parts := s.PartsOf(tags, in)
	for i := range parts {
		for _, r := range parts[i].Members {
			parts[i].Scores = append(parts[i].Scores, leads[r])
		}
	}
	return parts, nil
}

// ranked lists the tags that lead by least or more, the clearest first.
func ranked(tags, groups []int, leads []float64, least float64) []Proposal {
	list := []Proposal{}
	for i, g := range groups {
		if leads[i] >= least {
			list = append(list, Proposal{tags[i], g, leads[i]})
		}
	}
	slices.SortFunc(list, func(a, b Proposal) int {
		return cmp.Or(cmp.Compare(b.Lead, a.Lead), cmp.Compare(a.Tag, b.Tag))
	})
	return list
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
	if !readJSON(w, r, &q) {
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
		writeJSON(w, http.StatusUnprocessableEntity, answer{Error: err.Error()})
		return
	}
	writeJSON(w, http.StatusOK, a)
}

// checked is the answer to a check.
type checked struct {
	Version int `json:"version"`
	*curate.ProposalCheck
	Rest  []int     `json:"rest,omitempty"`  // tags of the proposal that are left
	Leads []float64 `json:"leads,omitempty"` // score of each of Rest; none if no names are known
}

// leads lists the tags that a proposal has left, with its scores. If it has none, leads prepares to
// compute by how much the name of its group is nearer to each of them than any other; that is negative
// if the nearest name is another. The lock is held; the function that it returns runs without it.
func (s *Server) leads(a *checked) func(context.Context) error {
	a.Rest = s.session.OpenProposals(a.Of)
	if a.Of > 0 {
		a.Leads = s.session.OpenScores(a.Of, a.Rest)
	}
	if a.Leads != nil || s.c.Suggester == nil || len(a.Rest) == 0 {
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
