package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// refusal is the error of a request that is wrong in itself, with the status of the answer.
type refusal struct {
	code int
	text string
}

func (r *refusal) Error() string { return r.text }

// badRequest is the error of a request that the page does not make.
func badRequest(format string, args ...any) error {
	return &refusal{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// get handles a request with what answer returns. The status of a *refusal is its own, and that of another error is
// 422.
func get(answer func(r *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := answer(r)
		reply(w, v, err)
	}
}

// post is get for a POST, with its body.
func post[Q any](answer func(r *http.Request, q Q) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var q Q
		if !readJSON(w, r, &q) {
			return
		}
		v, err := answer(r, q)
		reply(w, v, err)
	}
}

// needs is a handler of what this page can do only if it has something. Without it, why is the answer.
func needs(has bool, why string, handler http.HandlerFunc) http.HandlerFunc {
	if has {
		return handler
	}
	return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, why, http.StatusNotFound) }
}

// reply sends an answer, or why there is none.
func reply(w http.ResponseWriter, v any, err error) {
	var refused *refusal
	switch {
	case errors.As(err, &refused):
		http.Error(w, refused.text, refused.code)
	case err != nil:
		writeJSON(w, http.StatusUnprocessableEntity, answer{Error: err.Error()})
	default:
		writeJSON(w, http.StatusOK, v)
	}
}

// readJSON decodes the body of a POST strictly. It answers errors itself and reports
// whether there was none.
func readJSON(w http.ResponseWriter, r *http.Request, v any) bool {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil && d.More() {
		err = errors.New("more than one value")
	}
	if err != nil {
		code := http.StatusBadRequest
		if errors.As(err, new(*http.MaxBytesError)) {
			code = http.StatusRequestEntityTooLarge
		}
		http.Error(w, fmt.Sprintf("the request: %v", err), code)
		return false
	}
	return true
}

// writeLimit is the longest time that a browser may take to read an answer.
const writeLimit = 2 * time.Minute

// writeJSON sends an answer. No lock may be held, so that a browser that does not read does
// not block others.
func writeJSON(w http.ResponseWriter, code int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	// Making the map may have used up the deadline of the answer. A connection without
	// deadlines has none to extend.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeLimit))
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(code)
	w.Write(data) // an error means that the browser has gone away
}
