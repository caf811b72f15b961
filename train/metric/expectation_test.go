package metric

import (
	"encoding/json"
	"testing"

	"hgld/internal/testing/must"
)

// expectation is what a case of the goldens expects under one tie rule.
type expectation struct {
	Ranking      [][]int               `json:"ranking"`
	Mean         map[string]*float64   `json:"mean"`
	Skipped      map[string]int        `json:"skipped"`
	PerQuery     map[string][]*float64 `json:"per_query"`
	FirstQueries map[string][]*float64 `json:"first_queries"`
}

// jsonAny is an object, or a text in its place.
type jsonAny struct{ json.RawMessage }

func (j jsonAny) isObject() bool { return len(j.RawMessage) > 0 && j.RawMessage[0] == '{' }

func (j jsonAny) expectation(t *testing.T) expectation {
	var e expectation
	must.Do(t, json.Unmarshal(j.RawMessage, &e))
	return e
}
