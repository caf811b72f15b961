package download

import (
	"net/url"
	"slices"
	"strings"

	"hgld/internal/objectstore/address"
)

// openParameters are the parameters of a query that select a file and hold no secret.
var openParameters = []string{"alt", "dl", "download", "export", "file", "filename", "format", "name", "path", "raw",
	"ref", "rev", "revision", "v", "version"}

// IsAddress reports whether a text is an address, and not the path of a file.
func IsAddress(text string) bool {
	scheme, _, found := strings.Cut(text, "://")
	return found && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// hidden stands for what Public leaves out.
const hidden = "…"

// Public returns an address without what may be secret: name and password, the fragment, and the values
// of a query's parameters, except for a few that are known to select a file. whole reports that nothing
// was left out.
func Public(text string) (public string, whole bool) {
	u, err := url.Parse(text)
	if err != nil || !strings.Contains(text, "://") || u.Opaque != "" ||
		u.User == nil && address.WithoutSecret(text) != text {
		return hidden, false
	}
	whole = u.User == nil && u.Fragment == ""
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	fields := strings.FieldsFunc(u.RawQuery, func(r rune) bool { return r == '&' || r == ';' })
	for i, field := range fields {
		name, value, _ := strings.Cut(field, "=")
		switch {
		case value != "" && slices.Contains(openParameters, strings.ToLower(name)) && len(value) <= 200:
		case value == "": // the name itself may be the secret
			fields[i], whole = hidden, false
		default:
			fields[i], whole = name+"="+hidden, false
		}
	}
	u.RawQuery = ""
	public = u.String()
	if len(fields) > 0 {
		public += "?" + strings.Join(fields, "&")
	}
	return public, whole
}
