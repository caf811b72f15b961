package fakecommons

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// API configures the fake APIs.
type API struct {
	PerKey time.Duration // latency for every requested title or id
	// > 0: a reply has the categories of this many titles only; "continue" leads to the rest
	ContinueAfter int
	Truncate      int         // > 0: a reply has at most this many entities, and a warning
	Lag           func() bool // may be nil; reports whether requests with maxlag fail because the servers lag
}

// mostKeys is the largest number of titles or ids in a request.
const mostKeys = 50

// parameters are the known parameters, those of hgld. Others cause a warning.
var parameters = strings.Fields("action format formatversion maxlag titles ids redirects prop ppprop cllimit " +
	"clcategories clcontinue continue rvprop rvslots list letitle leprop lelimit props languages languagefallback")

type object map[string]any

// serveAPI answers a request to /w/api.php.
func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<20)
	if err := r.ParseForm(); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	keys := values(r.Form.Get("titles"), r.Form.Get("ids"))
	x := s.begin(w, r, &s.traffic.api, s.Limits.API, keys)
	if x == nil {
		return
	}
	defer x.end()
	f := s.failure(r, apiFailures)
	if f == nil && s.API.Lag != nil && r.Form.Get("maxlag") != "" && s.API.Lag() {
		f = lagging
	}
	if f != nil {
		x.fail(f)
		return
	}
	if !x.wait(s.Latency + time.Duration(len(keys))*s.API.PerKey) {
		return
	}
	reply := s.reply(r, keys)
	warn(reply, r)
	x.reply(reply)
}

// reply returns the reply in formatversion 2.
func (s *Server) reply(r *http.Request, keys []string) object {
	switch {
	case len(keys) > mostKeys:
		s.traffic.mu.Lock()
		s.traffic.violations = append(s.traffic.violations, fmt.Sprintf("%d titles or ids in a request", len(keys)))
		s.traffic.mu.Unlock()
		name := "titles"
		if r.Form.Get("ids") != "" {
			name = "ids"
		}
		return failed("toomanyvalues", fmt.Sprintf("Too many values supplied for parameter %q. The limit is %d.", name,
			mostKeys),
			object{"parameter": name, "limit": mostKeys, "lowlimit": mostKeys, "highlimit": 500})
	case r.Form.Get("action") == "wbgetentities":
		return s.entities(r, keys)
	case r.Form.Get("list") == "logevents":
		return s.log(r.Form.Get("letitle"))
	case r.Form.Get("action") == "query":
		return s.query(r, keys)
	}
	return failed("badvalue", "Unrecognized value for parameter \"action\".", nil)
}

// failed returns an error reply. more are additional members of the error.
func failed(code, info string, more object) object {
	e := object{"code": code, "info": info, "docref": "See https://commons.wikimedia.org/w/api.php for API usage."}
	for key, value := range more {
		e[key] = value
	}
	return object{"error": e, "servedby": "mw-api-ext.eqiad.main-x"}
}

// warn adds warnings about unknown parameters.
func warn(reply object, r *http.Request) {
	var unknown []string
	for name := range r.Form {
		if !slices.Contains(parameters, name) {
			unknown = append(unknown, "'"+name+"'")
		}
	}
	warnings, _ := reply["warnings"].(object)
	if warnings == nil {
		warnings = object{}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		warnings["main"] = object{"warnings": "Unrecognized parameter: " + strings.Join(unknown, ", ") + "."}
	}
	if len(warnings) > 0 {
		reply["warnings"] = warnings
	}
}

// reply sends a reply as JSON.
func (x *exchange) reply(reply object) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(reply); err != nil {
		panic(err) // maps of strings and numbers
	}
	x.w.Header().Set("Content-Type", jsonType)
	if e, ok := reply["error"].(object); ok {
		x.w.Header().Set("MediaWiki-API-Error", e["code"].(string))
	}
	x.note("")
	x.send(http.StatusOK, b.Bytes())
}

// values splits a list as MediaWiki does.
func values(lists ...string) []string {
	for _, list := range lists {
		if rest, ok := strings.CutPrefix(list, "\x1f"); ok {
			return strings.Split(rest, "\x1f")
		}
		if list != "" {
			return strings.Split(list, "|")
		}
	}
	return nil
}
