package labels

import (
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"hgld/internal/testing/must"
)

func TestTagTableHasOneRowPerLandmark(t *testing.T) {
	const text = "\ufeff\"split\",landmark_id,instance_of,wikidata_id,category,source\r\n" +
		"train,0,horse  racing venue,Q837662,http://x/A,a\r\n" +
		"index,0,\" \",,\"http://x/B,_C\",\"two\nlines\"\r\n" +
		"train,7,,,,\r\n"
	rows, err := ReadTagTable(strings.NewReader(text), "t.csv", "instance_of", ReadOptions{})
	must.Do(t, err)
	want := []TagRow{
		{LandmarkKey{Train, 0}, "http://x/A", "Q837662", "horse  racing venue", "t.csv:2"},
		{LandmarkKey{Index, 0}, "http://x/B,_C", "", " ", "t.csv:3"},
		{LandmarkKey{Train, 7}, "", "", "", "t.csv:5"},
	}
	if !reflect.DeepEqual(rows, want) {
		t.Errorf("rows\n%+v\nwant\n%+v", rows, want)
	}
	rows, err = ReadTagTable(strings.NewReader("landmark_id,tag\n5,lake\n"), "t.csv", "tag", ReadOptions{Split: Index})
	if err != nil || !reflect.DeepEqual(rows, []TagRow{{LandmarkKey{Index, 5}, "", "", "lake", "t.csv:2"}}) {
		t.Errorf("rows %+v, error %v", rows, err)
	}
}

func TestTagTableErrorsNameTheRow(t *testing.T) {
	const head = "split,landmark_id,tag\n"
	for name, c := range map[string]struct{ text, want string }{
		"empty":        {"", "t.csv:1: the file is empty; want a header with landmark_id"},
		"no tag":       {"split,landmark_id\n", `t.csv:1: column "tag" is missing; got split,landmark_id`},
		"no landmark":  {"split,tag\n", `t.csv:1: column "landmark_id" is missing`},
		"column twice": {"split,landmark_id,tag,tag\n", `t.csv:1: column "tag" occurs twice`},
		"no split":     {"landmark_id,tag\n1,a\n", "t.csv: the split of this file is unknown"},
		"negative":     {head + "train,-3,a\n", `t.csv:2: landmark_id: got "-3", want a whole number`},
		"zeros":        {head + "train,007,a\n", `t.csv:2: landmark_id: got "007"`},
		"plus":         {head + "train,+8,a\n", `t.csv:2: landmark_id: got "+8"`},
		"split":        {head + "train,1,a\nTrain,2,a\n", `t.csv:3: split: got "Train", want one of`},
		"twice": {head + "train,1,a\nindex,1,a\ntrain,1,b\n",
			"t.csv:4: train landmark 1 occurs twice, first at t.csv:2"},
		"not UTF-8":  {head + "train,1,caf\xe9\n", "t.csv:2: byte 0xe9 is not UTF-8"},
		"huge field": {head + "train,1," + strings.Repeat("a", maxLine+1) + "\n", "t.csv:2: a field has"},
		"long tag":   {head + "train,1," + strings.Repeat("\x01", maxTagField+1) + "\n", `t.csv:2: "\x01\x01`},
		"short row":  {head + "train,1\n", "t.csv:2: 2 fields, want 3"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadTagTable(strings.NewReader(c.text), "t.csv", "tag", ReadOptions{})
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("error %v\nwant  %s", err, c.want)
			}
		})
	}
	_, err := ReadTagTable(strings.NewReader(head), "t.csv", "tags", ReadOptions{})
	if missing := (*ColumnError)(nil); !errors.As(err, &missing) || missing.Column != "tags" {
		t.Errorf("error %v, want a *ColumnError", err)
	}
}

// The writer of tags.jsonl accepts everything that the reader accepts.
func TestLongestTagFitsIntoItsLine(t *testing.T) {
	long := strings.Repeat("\x01", maxTagField)
	text := "split,landmark_id,tag,category,wikidata_id\ntrain,1," + long + "," + long + "," + long + "\n"
	rows := must.Get(ReadTagTable(strings.NewReader(text), "t.csv", "tag", ReadOptions{}))(t)
	rec := Record{Landmark: 1, Split: Train, Outcome: OK, Tag: rows[0].Tag, Raw: rows[0].Tag, Category: rows[0].Category,
		Item:  rows[0].Item,
		Title: rows[0].Category, Values: []TagValue{{Raw: rows[0].Tag, Text: rows[0].Tag}}}
	if err := WriteTags(io.Discard, TagsHeader{}, []Record{rec}); err != nil {
		t.Error(err)
	}
}
