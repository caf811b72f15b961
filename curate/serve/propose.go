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
	Tag   int     `json:"tag"`   // place of the tag
	Group int     `json:"group"` // place of the group
	Lead  float64 `json:"lead"`  // difference of the two cosines, and not negative
}

// proposals answers with a group for every tag that is open and not proposed yet, the
// clearest first. With "least" it leaves out tags that lead by less. The page makes an
// edit of those that it takes. Without two groups of names that are known the list is
// empty; waiting says that names are still being encoded.
func (s *Server) proposals(r *http.Request, q struct {
	Least float64 `json:"least"`
}) (any, error) {
	s.mu.Lock()
	tags, version, waiting := s.session.Unproposed(), s.session.Version(), s.naming.running
	compute := s.c.Suggester.Proposals(tags, 1)
	s.mu.Unlock()
	groups, leads, err := compute(r.Context())
	return map[string]any{"version": version, "waiting": waiting, "proposals": ranked(tags, groups, leads, q.Least)}, err
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
	in, leads, err := near.Proposals(tags, 1)(ctx)
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
		tags = append(tags, p.Tag)
		if p.Group >= 0 { // otherwise it is proposed to drop the tag
			in[p.Tag] = s.OwnName(p.Group)
		}
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
func ranked(tags []int, groups [][]int, leads []float64, least float64) []Proposal {
	list := []Proposal{}
	for i, g := range groups {
		if leads[i] >= least {
			list = append(list, Proposal{tags[i], g[0], leads[i]})
		}
	}
	slices.SortFunc(list, func(a, b Proposal) int {
		return cmp.Or(cmp.Compare(b.Lead, a.Lead), cmp.Compare(a.Tag, b.Tag))
	})
	return list
}

// classes answers with a group for every tag that is not decided, −1 to drop it: the proposed one of a tag that is
// proposed, otherwise the one that is learnt. A tag is in doubt if both differ.
func (s *Server) classes(r *http.Request, _ struct{}) (any, error) {
	var a struct {
		Version int       `json:"version"`
		Waiting bool      `json:"waiting"` // names are still being encoded
		Tags    []int     `json:"tags"`
		Groups  []int     `json:"groups"`
		Leads   []float64 `json:"leads"`
		Doubt   []bool    `json:"doubt"`
	}
	s.mu.Lock()
	a.Version, a.Waiting = s.session.Version(), s.naming.running
	proposed := map[int]int{}
	for tag := range s.draftCluster {
		if n := s.session.Node(0, tag); !n.Decided {
			if a.Tags = append(a.Tags, tag); n.Proposed {
				proposed[tag] = n.Parent
			}
		}
	}
	compute := s.c.Suggester.Proposals(a.Tags, 1)
	s.mu.Unlock()
	groups, leads, err := compute(r.Context())
	if err != nil || groups == nil && len(proposed) == 0 {
		a.Tags = nil
		return a, err
	}
	all := a.Tags
	a.Tags = nil
	for i, tag := range all {
		group, is := proposed[tag]
		if !is && groups == nil {
			continue
		}
		lead, doubt := 0.0, false
		if groups != nil {
			lead, doubt = math.Round(leads[i]*1e4)/1e4, is && groups[i][0] != group
			if !is {
				group = groups[i][0]
			}
		}
		a.Tags, a.Groups, a.Leads, a.Doubt = append(a.Tags, tag), append(a.Groups, group), append(a.Leads, lead),
			append(a.Doubt, doubt)
	}
	return a, nil
}

// mostChoices is the number of groups that a row offers, by the keys 1 to 9.
const mostChoices = 9

// choices answers with the best groups of each of some tags, −1 to drop it.
func (s *Server) choices(r *http.Request, q selection) (any, error) {
	if err := s.checkTags(q.Tags); err != nil {
		return nil, err
	}
	s.mu.Lock()
	compute := s.c.Suggester.Proposals(q.Tags, mostChoices+2) // without the class of the screen, and without dropping
	s.mu.Unlock()
	groups, _, err := compute(r.Context())
	return map[string]any{"choices": groups}, err
}

// mostChecked is the largest sample of a proposal.
const mostChecked = 1000

// check answers with a drawn sample of a proposal, and how many of the tags that are still
// proposed are expected to be wrong (curate.ProposalCheck). Of is the number of the edit, 0
// for the last one that has tags left. With "whole" it lists those tags, too.
func (s *Server) check(r *http.Request, q struct {
	Of    int    `json:"of"`
	N     int    `json:"n"`
	Seed  uint64 `json:"seed"`
	Whole bool   `json:"whole"`
}) (any, error) {
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
	return a, err
}

// checked is the answer to a check.
type checked struct {
	Version int `json:"version"`
	*curate.ProposalCheck
	Rest  []int     `json:"rest,omitempty"`  // tags of the proposal that are left
	Leads []float64 `json:"leads,omitempty"` // score of each of Rest; none if no names are known
}

// leads lists the tags that a proposal has left, with its scores. If it has none, leads prepares to
// compute by how much its group leads any other for each of them; that is negative if another group
// leads. The lock is held; the function that it returns runs without it.
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
	compute := s.c.Suggester.Proposals(a.Rest, 1)
	return func(ctx context.Context) error {
		nearest, leads, err := compute(ctx)
		for i, g := range nearest {
			if g[0] != in[i] {
				leads[i] = -leads[i]
			}
		}
		a.Leads = leads
		return err
	}
}
