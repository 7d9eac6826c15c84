package smf

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// The network functions that an SMF talks to, emulated by one server of HTTP/2 without TLS: NRF, UDM, PCF, CHF and AMF.

const (
	coreAddress = "127.0.0.10:8000"
	coreURI     = "http://" + coreAddress
	dnn         = "internet"
	amfID       = "a0000000-0000-4000-8000-00000000000a"
)

var (
	slice = map[string]any{"sst": 1, "sd": "010203"}
	plmn  = map[string]any{"mcc": "001", "mnc": "01"}
)

// Policy is what PCF and CHF say of all sessions.
type Policy struct {
	Rule     *Rule
	Charging bool // there is a CHF, and the session and the rule are charged
}

// Rule is a PCC rule: UDP from rulePort of the data network, with its own rates, such as "20 Mbps"; "" is none.
type Rule struct {
	FiveQI   int
	MBR, GBR string
}

// Transfer is what the SMF asks the AMF to pass on to a UE (N1) and its gNB (N2).
type Transfer struct {
	At     time.Time
	Kind   string // the NGAP message
	N1, N2 []byte
	Data   map[string]any
}

// Core is the emulated core network.
type Core struct {
	server *http.Server

	mu         sync.Mutex
	policy     Policy
	registered chan struct{}
	transfers  map[string]chan Transfer
	idle       map[string]bool
	notified   map[string][]string // what the SMF says of a session's state, by SUPI
	charged    map[string]int      // requests to the CHF by their kind
	unknown    []string
}

// newCore starts the server.
func newCore(policy Policy) (*Core, error) {
	core := &Core{policy: policy, registered: make(chan struct{}), transfers: map[string]chan Transfer{}, idle: map[string]bool{},
		notified: map[string][]string{}, charged: map[string]int{}}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	core.server = &http.Server{Handler: core.routes(), Protocols: protocols}
	listener, err := net.Listen("tcp", coreAddress)
	if err != nil {
		return nil, err
	}
	go func() { _ = core.server.Serve(listener) }()
	return core, nil
}

func (c *Core) routes() http.Handler {
	mux := http.NewServeMux()
	c.nrf(mux)
	c.subscriber(mux)
	c.policies(mux)
	c.charging(mux)
	c.amf(mux)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		c.unknown = append(c.unknown, r.Method+" "+r.URL.Path)
		c.mu.Unlock()
		answer(w, http.StatusNotFound, map[string]any{"status": 404, "title": "not emulated: " + r.URL.Path})
	})
	return mux
}

func (c *Core) nrf(mux *http.ServeMux) {
	once := sync.OnceFunc(func() { close(c.registered) })
	mux.HandleFunc("PUT /nnrf-nfm/v1/nf-instances/{id}", func(w http.ResponseWriter, r *http.Request) {
		profile, _, _ := decode(r.Header.Get("Content-Type"), r.Body)
		profile["heartBeatTimer"] = 60
		created(w, r.URL.Path, profile)
		once()
	})
	mux.HandleFunc("PATCH /nnrf-nfm/v1/nf-instances/{id}", empty)
	mux.HandleFunc("DELETE /nnrf-nfm/v1/nf-instances/{id}", empty)
	mux.HandleFunc("POST /nnrf-nfm/v1/subscriptions", func(w http.ResponseWriter, r *http.Request) {
		wanted, _, _ := decode(r.Header.Get("Content-Type"), r.Body)
		wanted["subscriptionId"] = fmt.Sprint(time.Now().UnixNano())
		created(w, r.URL.Path+"/"+text(wanted, "subscriptionId"), wanted)
	})
	mux.HandleFunc("DELETE /nnrf-nfm/v1/subscriptions/{id}", empty)
	mux.HandleFunc("GET /nnrf-disc/v1/nf-instances", func(w http.ResponseWriter, r *http.Request) {
		found := []any{}
		if profile := c.profile(r.URL.Query().Get("target-nf-type")); profile != nil {
			found = append(found, profile)
		}
		answer(w, http.StatusOK, map[string]any{"validityPeriod": 3600, "nfInstances": found})
	})
}

// profile describes a network function of this server to who looks for its type.
func (c *Core) profile(kind string) map[string]any {
	services := map[string][]string{
		"UDM": {"nudm-sdm v2", "nudm-uecm v1"}, "PCF": {"npcf-smpolicycontrol v1"}, "AMF": {"namf-comm v1"},
	}
	if c.policy.Charging {
		services["CHF"] = []string{"nchf-convergedcharging v3"}
	}
	if services[kind] == nil {
		return nil
	}
	var list []any
	for index, service := range services[kind] {
		name, version, _ := strings.Cut(service, " ")
		list = append(list, map[string]any{
			"serviceInstanceId": fmt.Sprint(index), "serviceName": name, "scheme": "http", "nfServiceStatus": "REGISTERED",
			"versions":    []any{map[string]any{"apiVersionInUri": version, "apiFullVersion": version[1:] + ".0.0"}},
			"ipEndPoints": []any{map[string]any{"ipv4Address": "127.0.0.10", "transport": "TCP", "port": 8000}},
			"apiPrefix":   coreURI,
		})
	}
	profile := map[string]any{
		"nfInstanceId": "a0000000-0000-4000-8000-00000000000" + fmt.Sprintf("%x", kind[0]%16), "nfType": kind, "nfStatus": "REGISTERED",
		"ipv4Addresses": []any{"127.0.0.10"}, "nfServices": list, "plmnList": []any{plmn},
	}
	if kind == "AMF" {
		profile["nfInstanceId"] = amfID
		profile["amfInfo"] = map[string]any{"amfSetId": "001", "amfRegionId": "02", "guamiList": []any{guami()}}
	}
	return profile
}

func guami() map[string]any { return map[string]any{"plmnId": plmn, "amfId": "020040"} }

func (c *Core) subscriber(mux *http.ServeMux) {
	mux.HandleFunc("GET /nudm-sdm/v2/{supi}/sm-data", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, []any{map[string]any{"singleNssai": slice, "dnnConfigurations": map[string]any{dnn: map[string]any{
			"pduSessionTypes": map[string]any{"defaultSessionType": "IPV4", "allowedSessionTypes": []any{"IPV4", "IPV6", "IPV4V6"}},
			"sscModes":        map[string]any{"defaultSscMode": "SSC_MODE_1", "allowedSscModes": []any{"SSC_MODE_1"}},
			"5gQosProfile":    qosProfile(9), "sessionAmbr": ambr(),
		}}}})
	})
	mux.HandleFunc("POST /nudm-sdm/v2/{supi}/sdm-subscriptions", func(w http.ResponseWriter, r *http.Request) {
		wanted, _, _ := decode(r.Header.Get("Content-Type"), r.Body)
		wanted["subscriptionId"] = "1"
		created(w, r.URL.Path+"/1", wanted)
	})
	mux.HandleFunc("DELETE /nudm-sdm/v2/{supi}/sdm-subscriptions/{id}", empty)
	mux.HandleFunc("PUT /nudm-uecm/v1/{supi}/registrations/smf-registrations/{session}", func(w http.ResponseWriter, r *http.Request) {
		wanted, _, _ := decode(r.Header.Get("Content-Type"), r.Body)
		created(w, r.URL.Path, wanted)
	})
	mux.HandleFunc("DELETE /nudm-uecm/v1/{supi}/registrations/smf-registrations/{session}", empty)
}

func ambr() map[string]any { return map[string]any{"uplink": "1000 Mbps", "downlink": "1000 Mbps"} }

func qosProfile(fiveQI int) map[string]any {
	return map[string]any{"5qi": fiveQI, "priorityLevel": 8,
		"arp": map[string]any{"priorityLevel": 8, "preemptCap": "NOT_PREEMPT", "preemptVuln": "NOT_PREEMPTABLE"}}
}

func (c *Core) policies(mux *http.ServeMux) {
	mux.HandleFunc("POST /npcf-smpolicycontrol/v1/sm-policies", func(w http.ResponseWriter, r *http.Request) {
		asked, _, _ := decode(r.Header.Get("Content-Type"), r.Body)
		created(w, r.URL.Path+"/"+text(asked, "supi"), c.policy.decision())
	})
	mux.HandleFunc("POST /npcf-smpolicycontrol/v1/sm-policies/{id}/update", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{})
	})
	mux.HandleFunc("POST /npcf-smpolicycontrol/v1/sm-policies/{id}/delete", empty)
}

// decision is the policy as an SmPolicyDecision.
func (p Policy) decision() map[string]any {
	decision := map[string]any{"sessRules": map[string]any{"session": map[string]any{
		"sessRuleId": "session", "authSessAmbr": ambr(), "authDefQos": qosProfile(9)}}}
	rules, qos, charges := map[string]any{}, map[string]any{}, map[string]any{}
	if p.Rule != nil {
		data := qosProfile(p.Rule.FiveQI)
		data["qosId"] = "1"
		for key, rate := range map[string]string{"maxbr": p.Rule.MBR, "gbr": p.Rule.GBR} {
			if rate != "" {
				data[key+"Ul"], data[key+"Dl"] = rate, rate
			}
		}
		qos["1"] = data
		flow := fmt.Sprintf("permit out 17 from %s %d to assigned", dataNetwork4, rulePort)
		rule := map[string]any{"pccRuleId": "flow", "precedence": 10, "refQosData": []any{"1"},
			"flowInfos": []any{map[string]any{"flowDescription": flow, "flowDirection": "BIDIRECTIONAL"}}}
		if p.Charging {
			rule["refChgData"], charges["flow"] = []any{"flow"}, charge("flow", 10)
		}
		rules["flow"] = rule
	}
	if p.Charging { // the session as a whole: a rule without a flow of its own
		rules["all"] = map[string]any{"pccRuleId": "all", "precedence": 200, "refChgData": []any{"all"}, "flowInfos": []any{
			map[string]any{"flowDescription": "permit out ip from any to assigned", "flowDirection": "BIDIRECTIONAL"}}}
		charges["all"] = charge("all", 1)
		decision["chgDecs"] = charges
	}
	if len(rules) > 0 {
		decision["pccRules"], decision["qosDecs"] = rules, qos
	}
	return decision
}

func charge(id string, group int) map[string]any {
	return map[string]any{"chgId": id, "ratingGroup": group, "online": true, "offline": false, "meteringMethod": "VOLUME", "reportingLevel": "RAT_GR_LEVEL"}
}

// charging is a CHF that grants whatever is asked.
func (c *Core) charging(mux *http.ServeMux) {
	grant := func(kind string, status int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			asked, _, _ := decode(r.Header.Get("Content-Type"), r.Body)
			c.mu.Lock()
			c.charged[kind]++
			c.mu.Unlock()
			units := []any{}
			used, _ := asked["multipleUnitUsage"].([]any)
			for _, one := range used {
				units = append(units, map[string]any{"ratingGroup": at(one, "ratingGroup"), "resultCode": "SUCCESS",
					"grantedUnit": map[string]any{"totalVolume": 100000, "uplinkVolume": 100000, "downlinkVolume": 100000}, "validityTime": 3600,
					"volumeQuotaThreshold": 50000})
			}
			w.Header().Set("Location", coreURI+r.URL.Path+"/1")
			answer(w, status, map[string]any{"invocationTimeStamp": time.Now().UTC().Format(time.RFC3339),
				"invocationSequenceNumber": asked["invocationSequenceNumber"], "multipleUnitInformation": units})
		}
	}
	mux.HandleFunc("POST /nchf-convergedcharging/v3/chargingdata", grant("create", http.StatusCreated))
	mux.HandleFunc("POST /nchf-convergedcharging/v3/chargingdata/{id}/update", grant("update", http.StatusOK))
	mux.HandleFunc("POST /nchf-convergedcharging/v3/chargingdata/{id}/release", grant("release", http.StatusNoContent))
}

func (c *Core) amf(mux *http.ServeMux) {
	mux.HandleFunc("POST /namf-comm/v1/ue-contexts/{supi}/n1-n2-messages", func(w http.ResponseWriter, r *http.Request) {
		transfer := Transfer{At: time.Now()}
		data, parts, err := decode(r.Header.Get("Content-Type"), r.Body)
		if err != nil {
			answer(w, http.StatusBadRequest, map[string]any{"status": 400, "title": err.Error()})
			return
		}
		transfer.Data = data
		transfer.N1 = parts[text(data, "n1MessageContainer", "n1MessageContent", "contentId")]
		info := at(data, "n2InfoContainer", "smInfo", "n2InfoContent")
		transfer.N2, transfer.Kind = parts[text(info, "ngapData", "contentId")], text(info, "ngapIeType")
		supi := r.PathValue("supi")
		c.mu.Lock()
		idle := c.idle[supi]
		c.mu.Unlock()
		c.of(supi) <- transfer
		if idle {
			w.Header().Set("Location", coreURI+r.URL.Path+"/1")
			answer(w, http.StatusAccepted, map[string]any{"cause": "ATTEMPTING_TO_REACH_UE"})
			return
		}
		answer(w, http.StatusOK, map[string]any{"cause": "N1_N2_TRANSFER_INITIATED"})
	})
	mux.HandleFunc("DELETE /namf-comm/v1/ue-contexts/{supi}/n1-n2-messages/{id}", empty)
	mux.HandleFunc("POST /status/{supi}", func(w http.ResponseWriter, r *http.Request) {
		data, _, _ := decode(r.Header.Get("Content-Type"), r.Body)
		c.mu.Lock()
		c.notified[r.PathValue("supi")] = append(c.notified[r.PathValue("supi")], text(data, "statusInfo", "resourceStatus"))
		c.mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
	})
}

// of gives the queue of what the SMF sends to a UE.
func (c *Core) of(supi string) chan Transfer {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.transfers[supi] == nil {
		c.transfers[supi] = make(chan Transfer, 64)
	}
	return c.transfers[supi]
}

// rest says that a UE is idle, or is connected again.
func (c *Core) rest(supi string, idle bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle[supi] = idle
}

func answer(w http.ResponseWriter, status int, data any) {
	w.Header().Set("Content-Type", "application/json")
	if status == http.StatusNoContent {
		w.WriteHeader(status)
		return
	}
	if status >= 400 {
		w.Header().Set("Content-Type", "application/problem+json")
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(data)
}

func created(w http.ResponseWriter, path string, data any) {
	w.Header().Set("Location", coreURI+path)
	answer(w, http.StatusCreated, data)
}

func empty(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }
