package serve

import (
	"net/http"

	"hgld/curate"
)

// find answers with the tags whose names match a regular expression in any case.
func (s *Server) find(_ *http.Request, q struct {
	Expression string `json:"expression"`
}) (any, error) {
	e, err := curate.Expression(q.Expression)
	if err != nil {
		return nil, err
	}
	tags := []int{}
	for i, t := range s.session.Draft().Tags {
		if e.MatchString(t.Name) {
			tags = append(tags, i)
		}
	}
	return map[string]any{"tags": tags}, nil
}
