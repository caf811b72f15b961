package curate

// TagEdit is an active edit as far as it is about one tag.
type TagEdit struct {
	Edit   *Edit    // whole edit
	To     string   // group that the edit put the tag into, "" for none
	Score  *float64 // that of a proposal, nil for none
	Reason string   // that of a proposal
}

// TagEdits lists the active edits that name a tag, in order: its own history.
func (s *Session) TagEdits(tag int) []TagEdit {
	find := s.finder()
	is := func(r Ref) bool {
		at, ok := find.find(0, r)
		return ok && int(at) == tag
	}
	var list []TagEdit
	for i := range s.edits {
		e := &s.edits[i]
		if !s.active[i] || e.Level > 0 && e.Op != Split {
			continue
		}
		for _, r := range e.From {
			if e.Level == 0 && is(r) {
				list = append(list, TagEdit{Edit: e, To: e.To})
				break
			}
		}
		for _, p := range e.Parts {
			if e.Op == Merge || e.Level > 1 {
				break
			}
			for k, r := range p.Members {
				if !is(r) {
					continue
				}
				t := TagEdit{Edit: e, To: p.To}
				if k < len(p.Scores) {
					t.Score = &p.Scores[k]
				}
				if k < len(p.Reasons) {
					t.Reason = p.Reasons[k]
				}
				list = append(list, t)
			}
		}
	}
	return list
}
