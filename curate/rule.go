package curate

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"

	"hgld/labels"
)

// A rule is the regular expression of a Move or a Drop. The edit names the tags that were open when it was made; on
// another draft it also decides the tags that the expression finds and nobody has decided before.

// LongestExpression is the longest regular expression, in bytes.
const LongestExpression = 1000

// Expression compiles a regular expression that finds names in any case. Its search takes time in proportion to the
// length of the names, whatever it is.
func Expression(text string) (*regexp.Regexp, error) {
	if len(text) > LongestExpression {
		return nil, fmt.Errorf("the expression has %d bytes, want %d at most", len(text), LongestExpression)
	}
	return regexp.Compile("(?i:" + text + ")")
}

// Rules lists the rules in force: those of earlier logs, before, and then those of this log. A group that is gone
// is named by its successor; a rule whose group has none is left out.
func (s *Session) Rules(before []labels.Rule) (list []labels.Rule) {
	rules := slices.Clone(before)
	for i, e := range s.edits {
		if e.Rule == "" || !s.active[i] {
			continue
		}
		r := labels.Rule{Expression: e.Rule, Group: e.To}
		if e.Op == Drop {
			r.Dropped = cmp.Or(e.Note, "dropped")
		}
		rules = append(rules, r)
	}
	for _, r := range rules {
		known := r.Group == ""
		if !known {
			r.Group, known = s.Successor(1, r.Group)
		}
		if known && !slices.ContainsFunc(list, r.Same) {
			list = append(list, r)
		}
	}
	return list
}

// commonRules lists the rules that all sessions have.
func commonRules(sessions []*Session) []labels.Rule {
	common := sessions[0].Rules(nil)
	for _, s := range sessions[1:] {
		own := s.Rules(nil)
		common = slices.DeleteFunc(common, func(r labels.Rule) bool { return !slices.ContainsFunc(own, r.Same) })
	}
	return common
}

// Found lists the open tags that a rule finds.
func (s *Session) Found(expression string) (refs []Ref) {
	rule, err := Expression(expression)
	if err != nil {
		return nil
	}
	return s.tagsThat(func(n *node) bool { return !n.decided && rule.MatchString(n.Name) })
}

// checkRule returns an error for a rule of another operation, or one that is no expression.
func (e *Edit) checkRule() error {
	if e.Rule == "" {
		return nil
	}
	if e.Op != Move && e.Op != Drop {
		return fmt.Errorf("%s has a rule, but only move and drop take one", e.Op)
	}
	_, err := Expression(e.Rule)
	return err
}

// followers are the open tags that a rule finds on another draft, besides those that its edit names.
func (s *state) followers(f finder, e *Edit, named []int32) (tags []int32) {
	if e.Rule == "" || f.tags == nil {
		return nil
	}
	rule, err := Expression(e.Rule)
	if err != nil {
		return nil // Check refuses it
	}
	own := map[int32]bool{}
	for _, i := range named {
		own[i] = true
	}
	for i := range s.levels[0] {
		if n := s.at(0, int32(i)); !n.decided && !own[int32(i)] && rule.MatchString(n.Name) {
			tags = append(tags, int32(i))
		}
	}
	return tags
}

// Against lists the tags that a rule finds and somebody has decided otherwise.
func (s *Session) Against(e *Edit) (refs []Ref) {
	rule, err := Expression(e.Rule)
	if e.Rule == "" || err != nil {
		return nil
	}
	return s.tagsThat(func(n *node) bool {
		return n.decided && rule.MatchString(n.Name) && (n.dropped != (e.Op == Drop) ||
			!n.dropped && !s.sameGroup(s.state.parentName(0, n), e.To))
	})
}
