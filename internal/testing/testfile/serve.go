package testfile

import (
	"bytes"
	"net/http"
	"time"
)

// Serve answers a request, or its Range, with the content of a file. tag is its ETag, and "" none. The answer breaks
// off after cut bytes; 0: it does not.
func Serve(w http.ResponseWriter, r *http.Request, content []byte, tag string, cut int) {
	if tag != "" {
		w.Header().Set("ETag", tag)
	}
	if cut > 0 {
		w = &cutAnswer{w, cut}
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// cutAnswer breaks an answer off.
type cutAnswer struct {
	http.ResponseWriter
	left int
}

func (c *cutAnswer) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p[:min(len(p), c.left)])
	if c.left -= n; c.left == 0 {
		c.ResponseWriter.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	return n, err
}
