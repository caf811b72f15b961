package qrels

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"hgld/internal/regular"
	"hgld/internal/torchfile"
	"hgld/train/metric"
)

// ReadRevisited returns the ground truth of Revisited Oxford or Paris as JSON: the file at path, or if it is
// named as a pickle the JSON of the value in it.
func ReadRevisited(path string) ([]byte, error) {
	if torchfile.Named(path) {
		return torchfile.JSON(path)
	}
	return regular.ReadFile(path)
}

// IsGroundTruth reports whether a file is the ground truth of Revisited Oxford or Paris: a pickle, or JSON with the
// list gnd, or this list alone.
func IsGroundTruth(path string) bool {
	if torchfile.Named(path) {
		return true
	}
	if filepath.Ext(path) != ".json" {
		return false
	}
	data, err := regular.ReadFile(path)
	var list []map[string]json.RawMessage
	var whole struct{ Gnd []json.RawMessage }
	return err == nil && (json.Unmarshal(data, &list) == nil && len(list) > 0 ||
		json.Unmarshal(data, &whole) == nil && whole.Gnd != nil)
}

// protocols are those of metric.Truth by name.
var protocols = []metric.Protocol{metric.EasyOnly, metric.Medium, metric.HardOnly}

// readRevisited reads the ground truth of Revisited Oxford or Paris by one protocol.
func (q *Qrels) readRevisited(data []byte, protocol string) error {
	at := slices.IndexFunc(protocols, func(p metric.Protocol) bool { return p.String() == protocol })
	if at < 0 {
		return fmt.Errorf("its part is %.80q, want easy, medium or hard", protocol)
	}
	var names struct{ Imlist, Qimlist []string }
	if err := json.Unmarshal(data, &names); err != nil || len(names.Qimlist) == 0 {
		return fmt.Errorf("want the ground truth of Revisited Oxford or Paris: imlist, qimlist and gnd (%w)", err)
	}
	truths, err := metric.ParseTruths(data, len(names.Qimlist), len(names.Imlist))
	if err != nil {
		return err
	}
	for i, query := range names.Qimlist {
		right, removed := protocols[at].Rows(truths[i])
		for _, of := range []struct {
			rows      []int32
			relevance int
		}{{right, 1}, {removed, junk}} {
			for _, row := range of.rows {
				if err := q.judge(query, names.Imlist[row], of.relevance); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// IsRevisited reports whether a usage is a protocol of Revisited Oxford and Paris.
func IsRevisited(usage string) bool {
	return slices.ContainsFunc(protocols, func(p metric.Protocol) bool { return p.String() == strings.ToLower(usage) })
}
