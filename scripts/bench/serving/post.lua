-- wrk's script: posts the bodies that $BODIES names, one a file, in turn; prepared, so that wrk formats nothing.
local requests, at = {}, 0
function init(args)
  local headers = { ["Content-Type"] = os.getenv("CONTENT_TYPE") }
  for name in os.getenv("BODIES"):gmatch("[^:]+") do
    local file = io.open(name, "rb")
    requests[#requests + 1] = wrk.format("POST", nil, headers, file:read("*a"))
    file:close()
  end
end
function request()
  at = at % #requests + 1
  return requests[at]
end
function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format('RESULT {"requests":%d,"us":%d,"p50_us":%d,"p99_us":%d,"p999_us":%d,"errors":%d}\n', summary.requests,
    summary.duration, latency:percentile(50), latency:percentile(99), latency:percentile(99.9),
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
