-- Where did cases run?
SELECT environment, device, device_name, driver, system, processor, capability, threads
FROM environments
SEMI JOIN chosen_verdicts USING (environment)
ORDER BY environment
