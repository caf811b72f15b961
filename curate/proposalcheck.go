package curate

import (
	"fmt"
	"math/rand/v2"
)

// ProposalCheck estimates the quality of a proposal from a sample of its tags.
type ProposalCheck struct {
	Of    int   `json:"of"`    // number of the Propose, 0 if there is none
	Tags  []int `json:"tags"`  // places of the tags to check, in the order in which they were drawn
	Right int   `json:"right"` // number of them that a curator put into the proposed group
	Wrong int   `json:"wrong"` // number of them that a curator moved elsewhere, dropped or refused
	Left  int   `json:"left"`  // number of tags of the whole proposal that are still only proposed
	// Strata divide the tags of Left by their scores, the surest first. There is one stratum if
	// the proposal has no scores, and none before the first tag is checked.
	Strata []Stratum `json:"strata"`
	// Expected is the number of tags of Left that are expected to be wrong; nil if no checked tag
	// says anything about them.
	Expected *float64 `json:"expected"`
	Low      float64  `json:"low"`  // lower end of its 95 % interval
	High     float64  `json:"high"` // upper end
}

// CheckProposal draws n tags of the Propose with the number seq and counts what the curator
// decided on them. It draws as many from every fifth of the tags by their scores. The same seed
// draws the same tags; a larger n adds tags to them. Accept,
// Move and Drop count as a check of a tag, and so do Confirm and Withdraw with a note. Without
// a note, nobody has looked at the single tags. If seq is 0, CheckProposal uses the last
// active Propose that has tags left, and returns an empty result if there is none.
//
// Expected is the sum over the strata (see stratify).
func (s *Session) CheckProposal(seq, n int, seed uint64) (*ProposalCheck, error) {
	if seq == 0 {
		if seq = s.lastProposal(); seq == 0 {
			return &ProposalCheck{Tags: []int{}}, nil
		}
	}
	if seq < 1 || seq > len(s.edits) || s.edits[seq-1].Op != Propose {
		return nil, fmt.Errorf("curate: edit %d is not a proposal", seq)
	}
	p := s.proposedBy(&s.edits[seq-1])
	left := s.stillProposed(p.tags)
	c := &ProposalCheck{Of: seq, Tags: []int{}, Left: len(left)}
	order := p.draw(rand.New(rand.NewPCG(seed, uint64(seq))))
	drawn := map[int32]bool{}
	for _, i := range order[:max(0, min(n, len(order)))] {
		c.Tags = append(c.Tags, int(i))
		drawn[i] = true
	}
	verdicts := s.verdicts(seq, drawn, p.into)
	for _, right := range verdicts {
		if right {
			c.Right++
		} else {
			c.Wrong++
		}
	}
	c.stratify(p, left, verdicts)
	return c, nil
}

// OpenProposals lists the tags of the Propose with the number seq that are not decided yet, in the
// order of the edit.
func (s *Session) OpenProposals(seq int) []int {
	if seq < 1 || seq > len(s.edits) || s.edits[seq-1].Op != Propose {
		return nil
	}
	return s.stillProposed(s.proposedBy(&s.edits[seq-1]).tags)
}

// OpenScores returns the scores of the tags of OpenProposals, nil if the proposal has none.
func (s *Session) OpenScores(seq int, tags []int) []float64 {
	p := s.proposedBy(&s.edits[seq-1])
	if len(p.scores) == 0 {
		return nil
	}
	scores := make([]float64, len(tags))
	for i, tag := range tags {
		scores[i] = p.scores[int32(tag)]
	}
	return scores
}

// stillProposed returns those of the tags that are still only proposed.
func (s *Session) stillProposed(tags []int32) []int {
	var list []int
	for _, i := range tags {
		if s.state.at(0, i).proposed {
			list = append(list, int(i))
		}
	}
	return list
}

// lastProposal returns the number of the last active Propose that has tags left, or 0 if
// there is none.
func (s *Session) lastProposal() int {
	for i := len(s.edits) - 1; i >= 0; i-- {
		if s.active[i] && s.edits[i].Op == Propose && len(s.OpenProposals(i+1)) > 0 {
			return i + 1
		}
	}
	return 0
}

// Refused reports for each tag whether a curator rejected a proposal of it, that is, whether
// a Withdraw with a note names it.
func (s *Session) Refused() map[int]bool {
	refused := map[int]bool{}
	for i := range s.edits {
		e := &s.edits[i]
		if !s.active[i] || e.Op != Withdraw || e.Note == "" {
			continue
		}
		tags, _ := s.finder().findAll(0, e.From)
		for _, tag := range tags {
			refused[int(tag)] = true
		}
	}
	return refused
}

// proposed is what a Propose says, by the places of its tags.
type proposed struct {
	tags   []int32
	into   map[int32]string  // name of each one's group
	scores map[int32]float64 // empty if the edit has none
}

func (s *Session) proposedBy(e *Edit) proposed {
	p := proposed{into: map[int32]string{}, scores: map[int32]float64{}}
	for _, part := range e.Parts {
		for k, r := range part.Members {
			i, ok := s.finder().find(0, r)
			if !ok {
				continue
			}
			p.tags, p.into[i] = append(p.tags, i), part.To
			if k < len(part.Scores) {
				p.scores[i] = part.Scores[k]
			}
		}
	}
	return p
}

// verdicts returns, for those of the drawn tags that a curator decided after a proposal,
// whether the last decision agrees with it.
func (s *Session) verdicts(seq int, drawn map[int32]bool, into map[int32]string) map[int32]bool {
	right := map[int32]bool{}
	for i := seq; i < len(s.edits); i++ {
		e := &s.edits[i]
		if !s.active[i] || !e.reviewsTags() {
			continue
		}
		for _, r := range e.From {
			if at, ok := s.finder().find(0, r); ok && drawn[at] {
				right[at] = e.Op == Drop && into[at] == "" || (e.Op == Accept || e.Op == Move) && s.sameGroup(e.To, into[at])
			}
		}
		for _, part := range e.Parts {
			for _, r := range part.Members {
				if at, ok := s.finder().find(0, r); ok && drawn[at] {
					right[at] = s.sameGroup(part.To, into[at])
				}
			}
		}
	}
	return right
}

// reviewsTags reports whether the author of an edit has reviewed its tags one by one.
func (e *Edit) reviewsTags() bool {
	return e.Op == Accept || e.Op == Move || e.Op == Drop || (e.Op == Confirm || e.Op == Withdraw) && e.Note != ""
}

// sameGroup reports whether two names of groups, current or former, now mean the same group.
func (s *Session) sameGroup(a, b string) bool {
	nowA, okA := s.Successor(1, a)
	nowB, okB := s.Successor(1, b)
	return a == b || okA && okB && nowA == nowB
}
