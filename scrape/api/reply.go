package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// reply is the outer object of a reply.
type reply struct {
	Error    *replyError                `json:"error"`
	Continue map[string]json.RawMessage `json:"continue"`
	Query    json.RawMessage            `json:"query"`
	Entities *members[json.RawMessage]  `json:"entities"`
}

// members are those of an object by name. PHP encodes empty objects as lists. If a reply has an object twice, the last
// one counts.
type members[T any] map[string]T

func (m *members[T]) UnmarshalJSON(text []byte) error {
	*m = nil
	switch text[0] {
	case '[':
		return nil
	case '{':
		return json.Unmarshal(text, (*map[string]T)(m))
	}
	return fmt.Errorf("want an object, got %.20q", text)
}

type replyError struct {
	Code string `json:"code"`
	Info string `json:"info"`
	ID   string `json:"id"`
}

// Error quotes the API.
func (e *replyError) Error() string {
	return fmt.Sprintf("the API answers %.40q: %.160q", e.Code, e.Info)
}

// badID finds the id in the text of an error. Old versions of Wikibase name it only there.
var badID = regexp.MustCompile(`(?:Invalid id: |ID ")([^")]+)`)

// id returns the key that the error is about, or "" if it names none of asked.
func (e *replyError) id(asked []string) string {
	id := e.ID
	if m := badID.FindStringSubmatch(e.Info); id == "" && m != nil {
		id = m[1]
	}
	if slices.Contains(asked, id) {
		return id
	}
	return ""
}

// refused reports whether the error is about one of the requested ids.
func (e *replyError) refused() bool {
	return e.Code == "no-such-entity" || e.Code == "invalid-entity-id" || e.Code == "param-illegal"
}

// next describes the request that follows a reply.
type next struct {
	done bool
	keys []string
	more url.Values
}

// maxContinue limits a parameter that continues a reply, in bytes. Commons sends a title and a number.
const maxContinue = 2000

// followUp derives the next request from a reply: the continuation, or the same keys without
// the one that the API rejected.
func followUp(body []byte, asked []string) (next, error) {
	frame, err := readFrame(body)
	if err != nil {
		return next{}, err
	}
	if e := frame.Error; e != nil {
		id := e.id(asked)
		if !e.refused() || id == "" {
			return next{}, e
		}
		return next{keys: slices.DeleteFunc(slices.Clone(asked), func(k string) bool { return k == id }), more: url.Values{}},
			nil
	}
	if len(frame.Continue) == 0 {
		return next{done: true}, nil
	}
	more := url.Values{}
	for name, raw := range frame.Continue {
		if !strings.HasSuffix(name, "continue") {
			return next{}, fmt.Errorf("the API's reply continues with %.80q, which would change the request", name)
		}
		if len(raw) > maxContinue {
			return next{}, fmt.Errorf("the API's reply continues with a %.40s of %d bytes", name, len(raw))
		}
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw) // it is a number
		}
		more.Set(name, text)
	}
	return next{keys: asked, more: more}, nil
}

// readFrame reads the outer object of a reply.
func readFrame(body []byte) (r reply, err error) {
	switch start := bytes.TrimLeft(body, " \t\r\n"); {
	case !utf8.Valid(body):
		return r, errors.New("the API's reply is not UTF-8")
	case !bytes.HasPrefix(start, []byte("{")):
		return r, fmt.Errorf("the API's reply: want an object, got %.20q", start)
	}
	if err = json.Unmarshal(body, &r); errors.As(err, new(*json.SyntaxError)) {
		err = fmt.Errorf("the JSON text is truncated or malformed: %w", err)
	}
	if err != nil {
		err = fmt.Errorf("the API's reply: %w", err)
	}
	return r, err
}

// shortened cuts a text that explains something to a length for a record.
func shortened(text string) string {
	if len(text) <= 300 {
		return text
	}
	return strings.ToValidUTF8(text[:300], "") + "…"
}
