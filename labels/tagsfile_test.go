package labels

import (
	"bytes"
	"strings"
	"testing"

	"hgld/internal/testing/must"
)

const tagsText = `{"hgld_tags":1,"tool":"hgld 1.0","source":"page","site":{"a":[1,2]}}
{"landmark_id":0,"split":"train","category":"http://commons.wikimedia.org/wiki/Category:Happy_Valley_Racecourse","title":"Category:Happy Valley Racecourse","outcome":"ok","tag":"horse racing venue","raw":"horse racing venue ","qid":"Q1777138","values":[{"raw":"horse racing venue ","text":"horse racing venue","qualifiers":["since <1845> & on"],"lang":"en"}],"item":"Q837662","http_status":200,"weather":"fog"}
{"landmark_id":0,"split":"index","category":"","outcome":"no_infobox"}
{"landmark_id":7,"split":"index","category":"","outcome":"error_final","error":"U+FFFD is \ufffd, backslash is \\ufffd"}
`

func TestTagsRoundTripKeepsEveryField(t *testing.T) {
	h, records, err := ReadTags(strings.NewReader(tagsText), "tags.jsonl")
	must.Do(t, err)
	if got := string(h.Extra["site"]); got != `{"a":[1,2]}` {
		t.Errorf("header field site = %s", got)
	}
	if got := string(records[0].Values[0].Extra["lang"]); got != `"en"` {
		t.Errorf("value field lang = %s", got)
	}
	var b bytes.Buffer
	must.Do(t, WriteTags(&b, h, records))
	want := strings.Replace(tagsText, `is \ufffd,`, "is \uFFFD,", 1)
	if b.String() != want {
		t.Errorf("written\n%s\nwant\n%s", b.String(), want)
	}
}

func TestReadTagsNamesTheLineOfAnError(t *testing.T) {
	header := `{"hgld_tags":1}` + "\n"
	record := `{"landmark_id":1,"split":"train","category":"c","outcome":"no_tag"}` + "\n"
	for name, c := range map[string]struct{ text, want string }{
		"empty file":        {"", `t:1: the file is empty; want the header`},
		"no header":         {record, `t:1: field "hgld_tags" is missing: this is not a tags file of hgld`},
		"newer":             {`{"hgld_tags":2}`, `t:1: format version 2 of hgld_tags is not supported; this hgld reads versions up to 1: use a newer hgld`},
		"version 0":         {`{"hgld_tags":0}`, `t:1: format version 0 of hgld_tags does not exist`},
		"version text":      {`{"hgld_tags":"1"}`, `t:1: value: want a whole number of 64 bits, got string`},
		"byte order mark":   {"\ufeff" + header, `t:1: begins with a byte order mark`},
		"no object":         {header + "[]\n", `t:2: want an object {…}, got a list`},
		"empty line":        {header + "\n" + record, `t:2: is empty; want a JSON object`},
		"cut short":         {header + record[:30], `t:2: the JSON text is incomplete`},
		"garbage behind":    {header + strings.TrimSpace(record) + " x\n", `t:2: there is text after the JSON value`},
		"two on a line":     {header + strings.TrimSpace(record) + record, `t:2: there is text after the JSON value`},
		"no JSON":           {header + "{'a':1}\n", `t:2: not valid JSON: invalid character '\''`},
		"key twice":         {header + record + `{"landmark_id":2,"split":"train","landmark_id":3}`, `t:3: field "landmark_id" occurs twice in one object`},
		"key twice escaped": {header + record + `{"tag":"a","t\u0061g":"b"}`, `t:3: field "tag" occurs twice`},
		"key twice within":  {header + record + `{"new":[{"a":1,"a":2}]}`, `t:3: field "a" occurs twice`},
		"case":              {header + `{"landmark_id":1,"split":"train","outcome":"ok","Tag":"x"}`, `t:2: field "Tag": want "tag"; case counts`},
		"NUL":               {header + "{\"a\":\"\x00\"}", `t:2: contains a NUL byte`},
		"NUL escaped":       {header + `{"a":"\u0000"}`, `t:2: a string contains a NUL`},
		"half a pair":       {header + `{"a":"\ud83d"}`, `t:2: \ud83d is half of a surrogate pair`},
		"other half":        {header + `{"a":"\udc00 \ud83d\ude00"}`, `t:2: \udc00 is half of a surrogate pair`},
		"Latin-1":           {header + "{\"a\":\"Vi\xf1a\"}", `t:2: byte 0xf1 is not UTF-8`},
		"long line":         {header + `{"a":"` + strings.Repeat("x", maxLine) + `"}`, `t:2: line is longer than 1048576 bytes`},
		"deep":              {header + strings.Repeat(`{"a":`, 80) + "1" + strings.Repeat("}", 80), `t:2: nested more than 64 deep`},
		"no id":             {header + `{"split":"train","outcome":"no_tag"}`, `t:2: field "landmark_id" is missing`},
		"id null":           {header + `{"landmark_id":null,"split":"train","outcome":"no_tag"}`, `t:2: field "landmark_id" is null`},
		"id too large":      {header + `{"landmark_id":3000000000,"split":"train","outcome":"no_tag"}`, `t:2: landmark_id: want a whole number of 32 bits, got number 3000000000`},
		"id negative":       {header + `{"landmark_id":-1,"split":"train","outcome":"no_tag"}`, `t:2: landmark_id -1 is negative`},
		"split":             {header + `{"landmark_id":1,"split":"Train","outcome":"no_tag"}`, `t:2: unknown split "Train"; want one of [train index`},
		"outcome":           {header + `{"landmark_id":1,"split":"train","outcome":"fine"}`, `t:2: unknown outcome "fine"`},
		"ok without tag":    {header + `{"landmark_id":1,"split":"train","outcome":"ok"}`, `t:2: outcome ok without a tag`},
		"tag without ok":    {header + `{"landmark_id":1,"split":"train","outcome":"no_tag","tag":"x"}`, `t:2: outcome no_tag, but tag "x"`},
		"landmark twice":    {header + record + record, `t:3: train landmark 1 is already in line 2`},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := ReadTags(strings.NewReader(c.text), "t")
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("error %v\nwant  %s", err, c.want)
			}
		})
	}
}

func TestTagsWriterRefusesInvalidRecords(t *testing.T) {
	good := Record{Landmark: 1, Split: Train, Outcome: OK, Tag: "park"}
	with := func(change func(*Record)) Record {
		r := good
		change(&r)
		return r
	}
	for name, c := range map[string]struct {
		rec  Record
		want string
	}{
		"twice":     {good, "the landmark was already written"},
		"no split":  {with(func(r *Record) { r.Split = "" }), `unknown split ""`},
		"not UTF-8": {with(func(r *Record) { r.Landmark, r.Tag = 2, "Vi\xf1a" }), "text is not UTF-8"},
		"NUL":       {with(func(r *Record) { r.Landmark, r.Raw = 2, "a\x00" }), "text contains a NUL"},
		"long": {with(func(r *Record) { r.Landmark, r.Raw = 2, strings.Repeat("x", maxLine) }),
			"readers accept 1048576"},
		"own extra":  {with(func(r *Record) { r.Landmark = 2; r.Extra = extra("tag", `"x"`) }), `extra field "tag" is one of hgld's own`},
		"extra text": {with(func(r *Record) { r.Landmark = 2; r.Extra = extra("x", `{`) }), `extra field "x": unexpected end`},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			w := must.Get(NewTagsWriter(&b, TagsHeader{}))(t)
			must.Do(t, w.Write(good))
			before := b.Len()
			if err := w.Write(c.rec); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %s", err, c.want)
			}
			if b.Len() != before {
				t.Error("wrote part of a refused record")
			}
		})
	}
}

func FuzzReadTags(f *testing.F) {
	f.Add([]byte(tagsText))
	f.Add([]byte("{\"hgld_tags\":1}\n" +
		"{\"landmark_id\":1,\"split\":\"train\",\"outcome\":\"no_tag\",\"\\ud83d\\ude00\":null}\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, records, err := ReadTags(bytes.NewReader(data), "f")
		if err != nil {
			return
		}
		var once, twice bytes.Buffer
		if err := WriteTags(&once, h, records); err != nil {
			t.Fatalf("cannot write what was read: %v", err)
		}
		h, records, err = ReadTags(bytes.NewReader(once.Bytes()), "f")
		if err != nil {
			t.Fatalf("cannot read what was written: %v\n%s", err, once.Bytes())
		}
		must.Do(t, WriteTags(&twice, h, records))
		if !bytes.Equal(once.Bytes(), twice.Bytes()) {
			t.Fatalf("written again:\n%s\nwas\n%s", twice.Bytes(), once.Bytes())
		}
	})
}
