package polite

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// UserAgent returns a user agent in the form that Wikimedia's user-agent policy requires:
// "hgld-bot/1.0 (me@uni.edu) Go-http-client/1.1". contact is an e-mail address, or the URL
// of a page with one. Anything else is an error, and so is a placeholder such as
// me@example.com.
func UserAgent(version, contact string) (string, error) {
	contact = strings.TrimSpace(contact)
	if err := checkContact(contact); err != nil {
		return "", fmt.Errorf("polite: %w", err)
	}
	return fmt.Sprintf("hgld-bot/%s (%s) Go-http-client/1.1", strings.ReplaceAll(version, " ", "-"), contact), nil
}

var mail = regexp.MustCompile(`^[^@\s()<>]+@([^@\s()<>]+\.[^@\s()<>.]+)$`)

// placeholders are the domains that RFC 2606 and RFC 6761 reserve.
var placeholders = []string{"example", "example.com", "example.org", "example.net", "test", "invalid", "localhost"}

func checkContact(contact string) error {
	if contact == "" {
		return errors.New("no contact is given; Wikimedia blocks robots that do not say who runs them")
	}
	host := ""
	if m := mail.FindStringSubmatch(contact); m != nil {
		host = m[1]
	} else if u, err := url.Parse(contact); err == nil && (u.Scheme == "https" || u.Scheme == "http") &&
		strings.Contains(u.Host, ".") && !strings.ContainsAny(contact, " ()<>") {
		host = u.Hostname()
	}
	if host == "" {
		return fmt.Errorf("contact %.80q is neither an e-mail address nor a URL", contact)
	}
	for _, p := range placeholders {
		if host == p || strings.HasSuffix(host, "."+p) {
			return fmt.Errorf("contact %.80q is a placeholder; give an address that reaches you", contact)
		}
	}
	return nil
}

// checkAgent returns an error if a user agent contains no contact.
func checkAgent(agent string) error {
	_, rest, _ := strings.Cut(agent, "(")
	contact, _, closed := strings.Cut(rest, ")")
	if !closed {
		contact = ""
	}
	return checkContact(contact)
}
