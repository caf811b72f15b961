package serve

import (
	"embed"
	"io/fs"
	"net/http"
	"path"

	"hgld/internal/parts"
)

//go:embed page
var files embed.FS

// contentTypes are the media types of the page's files.
var contentTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

// page answers with the page, which is the same for everybody; it requests its data.
func (s *Server) page(w http.ResponseWriter, _ *http.Request) {
	data, err := files.ReadFile("page/page.html")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(data)
}

// asset answers with a file of the page.
func (s *Server) asset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	kind, known := contentTypes[path.Ext(name)]
	data, err := fs.ReadFile(files, "page/"+name)
	if err != nil {
		data, err = parts.Module(name)
	}
	if !known || err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Write(data)
}
