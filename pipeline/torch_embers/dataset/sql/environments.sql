-- Where did cases run?
SELECT DISTINCT environment, device, device_name, driver, system, processor, capability, threads
FROM chosen_environments
SEMI JOIN chosen_verdicts USING (environment)
ORDER BY environment
