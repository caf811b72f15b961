package objectstore

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"gopkg.in/ini.v1"

	"hgld/internal/regular"
	"hgld/internal/usage"
)

// misconfigured is the error for a variable, or a profile with its file, that cannot be used. It never holds the value.
func misconfigured(from, what string) error { return usage.Errorf("%s %s", from, what) }

// defaultTries is how often a request is made that fails for the moment, as AWS_MAX_ATTEMPTS says otherwise.
const defaultTries = 10

// config is where a store is, and how to speak with it.
type config struct {
	host   string
	secure bool
	region string
	creds  *credentials.Credentials
	tries  int
	roots  *x509.CertPool // nil: those of the system
}

// profileNames are the profile that AWS_PROFILE chooses, and whether it does.
func profileName() (name string, chosen bool) {
	name = os.Getenv("AWS_PROFILE")
	return cmp.Or(name, "default"), name != ""
}

// configure reads the environment and the AWS tools' files.
func configure() (*config, error) {
	profile, err := readProfile()
	if err != nil {
		return nil, err
	}
	c := &config{host: "s3.amazonaws.com", secure: true, tries: defaultTries,
		region: cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"), profile["region"])}
	for _, from := range [][2]string{{"$AWS_ENDPOINT_URL_S3", os.Getenv("AWS_ENDPOINT_URL_S3")},
		{"$AWS_ENDPOINT_URL", os.Getenv("AWS_ENDPOINT_URL")}, {"endpoint_url of the profile", profile["endpoint_url"]}} {
		if from[1] == "" {
			continue
		}
		if c.host, c.secure, err = endpointOf(from[1], from[0]); err != nil {
			return nil, err
		}
		c.region = cmp.Or(c.region, "us-east-1") // the name that servers outside AWS expect
		break
	}
	if text := os.Getenv("AWS_MAX_ATTEMPTS"); text != "" {
		if c.tries, err = strconv.Atoi(text); err != nil || c.tries < 1 {
			return nil, misconfigured("$AWS_MAX_ATTEMPTS", "is not a number of tries; want 1 or more")
		}
	}
	if file := cmp.Or(os.Getenv("AWS_CA_BUNDLE"), profile["ca_bundle"]); file != "" {
		text, err := regular.ReadFile(file)
		if err != nil {
			return nil, misconfigured("$AWS_CA_BUNDLE", "cannot be read: "+err.Error())
		}
		c.roots = x509.NewCertPool()
		if !c.roots.AppendCertsFromPEM(text) {
			return nil, misconfigured("$AWS_CA_BUNDLE", "has no certificate; want a file of PEM certificates")
		}
	}
	c.creds, err = findCredentials(c.region)
	return c, err
}

// endpointOf splits the address of a server.
func endpointOf(text, from string) (host string, secure bool, err error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "", false, misconfigured(from, "is not the address of a server; want https://host or http://host:9000")
	case u.User != nil:
		return "", false, misconfigured(from, "has a name or password; give the credentials in AWS_ACCESS_KEY_ID and "+
			"AWS_SECRET_ACCESS_KEY, or in a profile")
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "":
		return "", false, misconfigured(from, "has a path; want https://host or http://host:9000")
	}
	return u.Host, u.Scheme == "https", nil
}

// readProfile returns the settings of the profile, those of the credentials file before those of the config file.
func readProfile() (map[string]string, error) {
	home, _ := os.UserHomeDir()
	name, chosen := profileName()
	in := func(variable, file string) string {
		return cmp.Or(os.Getenv(variable), filepath.Join(home, ".aws", file))
	}
	section := "profile " + name
	if name == "default" {
		section = name
	}
	found, values := false, map[string]string{}
	for _, from := range [][2]string{{in("AWS_CONFIG_FILE", "config"), section},
		{in("AWS_SHARED_CREDENTIALS_FILE", "credentials"), name}} {
		text, err := regular.ReadFile(from[0])
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, misconfigured(from[0], "cannot be read: "+err.Error())
		}
		file, err := ini.Load(text)
		if err != nil { // whose text may show a line with a secret
			return nil, misconfigured(from[0],
				"is not a file of AWS profiles; want lines such as [default] and region = eu-west-1")
		}
		if !file.HasSection(from[1]) {
			continue
		}
		found = true
		for key, value := range file.Section(from[1]).KeysHash() {
			values[key] = value
		}
	}
	if chosen && !found {
		return nil, misconfigured("$AWS_PROFILE", fmt.Sprintf("is %.80q, but no such profile is in ~/.aws/config or "+
			"~/.aws/credentials", name))
	}
	return values, nil
}

// findCredentials looks at the environment, then at the profile, and then asks the machine: a web identity, a
// container's or an instance's role. Where there are none, requests are not signed, as public buckets allow.
func findCredentials(region string) (*credentials.Credentials, error) {
	id, secret := os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY")
	switch {
	case id != "" && secret != "":
		return credentials.NewStaticV4(id, secret, os.Getenv("AWS_SESSION_TOKEN")), nil
	case id != "" || secret != "":
		return nil, misconfigured("$AWS_ACCESS_KEY_ID", "and $AWS_SECRET_ACCESS_KEY belong together, but only one is set")
	}
	name, chosen := profileName()
	file := credentials.NewFileAWSCredentials("", name)
	value, err := file.GetWithContext(nil)
	switch {
	case err == nil && value.AccessKeyID != "":
		return file, nil
	case chosen:
		return nil, misconfigured(fmt.Sprintf("the profile %.80q", name), "has no credentials that can be used here; want "+
			"aws_access_key_id and aws_secret_access_key, a credential_process, or a session of aws sso login")
	}
	asks := os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE") != "" || os.Getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") != "" ||
		os.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI") != ""
	if asks || !strings.EqualFold(os.Getenv("AWS_EC2_METADATA_DISABLED"), "true") {
		wait := 2 * time.Second // an instance's answer takes milliseconds, and elsewhere nobody answers
		if asks {
			wait = 30 * time.Second
		}
		iam := credentials.New(&credentials.IAM{Client: &http.Client{Timeout: wait}, Region: region})
		value, err := iam.GetWithContext(nil)
		if err == nil && value.AccessKeyID != "" {
			return iam, nil
		}
		if asks {
			return nil, misconfigured("the role of this machine", "gives no credentials; want what "+
				"$AWS_WEB_IDENTITY_TOKEN_FILE, or the container's variables, promise")
		}
	}
	return credentials.NewStatic("", "", "", credentials.SignatureAnonymous), nil
}

// client makes the client. It tries every request once: this package repeats them.
func (c *config) client() (*minio.Core, error) {
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: time.Minute,
		IdleConnTimeout:       time.Minute,
		MaxIdleConnsPerHost:   64,
		DisableCompression:    true,
		TLSClientConfig:       &tls.Config{RootCAs: c.roots, MinVersion: tls.VersionTLS12},
	}
	client, err := minio.New(c.host, &minio.Options{Creds: c.creds, Secure: c.secure, Region: c.region,
		Transport: transport, MaxRetries: 1})
	if err != nil {
		return nil, misconfigured("the address of the object store", "cannot be used; want https://host or http://host:9000")
	}
	client.SetAppInfo("hgld", "1")
	return &minio.Core{Client: client}, nil
}
